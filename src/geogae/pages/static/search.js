// The search box: graphs found are lit on the map and listed below; arrow keys and Enter choose.

function makeSearch(box, list) {
  let found = [], active = -1;
  const close = () => { list.hidden = true; box.setAttribute("aria-expanded", "false"); active = -1; box.removeAttribute("aria-activedescendant"); };
  const take = (i) => { choose(i, true); close(); };
  const activate = (k) => {
    active = k;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === k)));
    if (k < 0) return box.removeAttribute("aria-activedescendant");
    box.setAttribute("aria-activedescendant", `found-${k}`);
    list.children[k].scrollIntoView({ block: "nearest" });
  };
  box.addEventListener("input", () => {
    const text = box.value.trim();
    found = text ? store.search(text) : [];
    map.lit = text ? new Set(found) : null;
    map.draw();
    list.replaceChildren(...found.slice(0, LISTED).map((i, k) => element("li", {
      id: `found-${k}`, role: "option", "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); take(i); },
    }, element("span", {}, store.name(i)), element("small", {}, (store.smiles && store.smiles[i]) || plural(store.graph(i).n, "node")))));
    if (text && !found.length) list.append(element("li", { class: "none" }, "No graph has this in its name or SMILES."));
    else if (found.length > LISTED) list.append(element("li", { class: "none" }, `and ${(found.length - LISTED).toLocaleString("en")} more, lit on the map`));
    list.hidden = !text;
    box.setAttribute("aria-expanded", String(Boolean(text)));
    byId("status").textContent = text ? `${plural(found.length, "graph")} found` : "";
    activate(-1);
  });
  box.addEventListener("keydown", (event) => {
    const last = Math.min(found.length, LISTED) - 1;
    if (event.key === "ArrowDown" && last >= 0) { event.preventDefault(); list.hidden = false; activate(active < last ? active + 1 : 0); }
    else if (event.key === "ArrowUp" && last >= 0) { event.preventDefault(); activate(active > 0 ? active - 1 : last); }
    else if (event.key === "Enter" && found.length) { event.preventDefault(); take(found[Math.max(active, 0)]); }
    else if (event.key === "Escape") { close(); box.value = ""; map.lit = null; map.draw(); }
  });
  box.addEventListener("blur", close);
}
