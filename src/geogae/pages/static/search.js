// The search box: graphs found are lit on the map and listed below; arrow keys and Enter choose.

function makeSearch(box, list) {
  let found = [], active = -1;
  const close = () => {
    list.hidden = true;
    active = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };
  const take = (i) => { choose(i, true); close(); };
  const activate = (k) => {
    active = k;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === k)));
    if (k < 0) return box.removeAttribute("aria-activedescendant");
    box.setAttribute("aria-activedescendant", `found-${k}`);
    list.children[k].scrollIntoView({ block: "nearest" });
  };
  const option = (i, k) => element("li", {
    id: `found-${k}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); take(i); },
  }, element("span", {}, store.name(i)), element("small", {}, store.smiles?.[i] || plural(store.graph(i).n, "node")));
  box.addEventListener("input", () => {
    const text = box.value.trim();
    found = text ? store.search(text) : [];
    map.lit = text ? new Set(found) : null;
    map.draw();
    list.replaceChildren(...found.slice(0, LISTED).map(option));
    const more = found.length - LISTED;
    if (text && !found.length) list.append(element("li", { class: "none" }, "No graph has this in its name or SMILES."));
    else if (more > 0) list.append(element("li", { class: "none" }, `and ${more.toLocaleString("en")} more, lit on the map`));
    list.hidden = !text;
    box.setAttribute("aria-expanded", String(Boolean(text)));
    byId("status").textContent = text ? `${plural(found.length, "graph")} found` : "";
    activate(-1);
  });
  box.addEventListener("keydown", (event) => {
    const last = Math.min(found.length, LISTED) - 1;
    const keys = {
      ArrowDown: () => { list.hidden = false; activate(active < last ? active + 1 : 0); },
      ArrowUp: () => activate(active > 0 ? active - 1 : last),
      Enter: () => take(found[Math.max(active, 0)]),
    };
    if (event.key === "Escape") {
      close();
      box.value = "";
      found = [];
      list.replaceChildren();
      byId("status").textContent = "";
      map.lit = null;
      map.draw();
    } else if (keys[event.key] && last >= 0) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  box.addEventListener("blur", close);
}
