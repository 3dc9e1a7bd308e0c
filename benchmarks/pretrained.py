"""Pretrained models with their cards, by one command: python benchmarks/pretrained.py [molecules] [graphs] [mutag].

Training graphs are those at hand, edited copies of them, and graphs that are joined of several: molecules by a bond
between atoms with hydrogens, other graphs by an edge or by a shared node. So a model also sees sizes and combinations
that no data set here has. Scores are of sets that the model never saw: AIDS and molecules of other fragments for
``molecules``; for ``graphs`` each of IMDB-BINARY, MUTAG and AIDS is scored by a model that was fitted without it.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from geogae import GeoGAE, GeoGAEError, Graph, datasets, metrics
from geogae.benchmark.provenance import provenance
from geogae.formats import from_smiles
from geogae.formats.chem import with_implied_hydrogens
from geogae.pretrained import CARD
from geogae.training.edits import Editor

log = logging.getLogger("geogae")

OUT = Path(__file__).parents[1] / "src" / "geogae" / "pretrained"
ATOMS, NODES = 60, 100  # the largest graphs of molecules and graphs
SOME = """c1ccccc1 c1ccncc1 c1ccoc1 c1ccsc1 c1cc[nH]c1 c1cnc[nH]1 c1ccc2[nH]ccc2c1 c1ccc2ncccc2c1 C1CCNCC1 C1CNCCN1
    C1CCOCC1 C1CCCCC1 C1CC1 C1COCCN1 CC(N)=O CC(=O)O CS(N)(=O)=O CCO CCN CC#N CF C(F)(F)F CCl CBr NC(N)=O COC CNC
    CC(C)C"""
OTHERS = """c1cncnc1 c1cnccn1 c1cnoc1 c1cncs1 c1ccc2sccc2c1 c1ccc2occc2c1 c1ccc2c(c1)OCO2 C1CCNC1 C1CCCC1 C1CNC1 C1COC1
    C1CCCNCC1 O=C1CCCN1 O=C1CNC(=O)N1 CS(C)(=O)=O CSC CC=O CC(C)=O C=C C#C CCI CP(=O)(O)O OB(O)c1ccccc1 NC=N ON
    CC(C)(C)C"""
FRAGMENTS = SOME.split(), OTHERS.split()  # of drugs; two of one list are joined in training, one of each never
KINDS = "C O N Cl F S Se P Na I Co Br Li Si Mg Cu As B Pt Ru K Pd Au Te W Rh Zn Bi Pb Ge Sb Sn Ga Hg Ho Tl Ni Tb"
RARE = """C[SiH3] C[SeH] C[AsH2] CB C[TeH] C[GeH3] C[SnH3] CI CBr CP CS [Na+] [K+] [Li+] [Mg+2] [Ca+2] [Zn+2] [Cu+2] [Co+2]
    [Ni+2] [Fe+2] [Pt+2] [Pd+2] [Au+] [Hg+2] [Cl-] [Br-] [I-] [OH-] C[O-] C[S-] C[NH3+] C[N+](C)(C)C C[n+]1ccccc1 C[N+](=O)[O-]
    C[P+](C)(C)C C[S+](C)C"""
AIDS_ATOMS = KINDS.split()  # what AIDS' categories of nodes stand for, by its README; those of edges are bond orders


class Recipe(NamedTuple):
    """One model: what it is fitted to, how, and what it is scored on."""

    about: str
    licence: str
    limits: str
    parameters: dict[str, Any]
    training: Callable[[int, Random], list[Graph]]
    unseen: Callable[[int], dict[str, list[Graph]]]
    data: str
    leave_out: bool = False  # each unseen set is in the training set of the model, so it is scored by another one


# -- molecules --------------------------------------------------------------------------------------------------------


def molecule_graphs(count: int, random: Random) -> list[Graph]:
    """QM9's heavy atoms, fragments, and molecules that are joined of both, up to ATOMS atoms."""
    known = datasets.sample(datasets.load("QM9"), min(4 * count, 20_000), 0)
    small = [graph for graph in map(_implied, known) if graph is not None]
    parts = [*small, *(5 * [from_smiles(smiles, hydrogens="implied") for smiles in FRAGMENTS[0]])]
    parts += [from_smiles(smiles, hydrogens="implied") for smiles in FRAGMENTS[1]]
    joined = [join_molecules(random, parts, random.randint(1, ATOMS), kept_apart) for _ in range(count)]
    editor = Editor(joined, edits=3, seed=0)
    edited = [graph for k in range(count) if (graph := _implied(editor.copy(k))) is not None]
    return [*joined, *edited, *small[: count // 2], *_every_element()]


def join_molecules(random: Random, parts: Sequence[Graph], most: int, apart: Callable[[str, str], bool]) -> Graph:
    """Parts joined by single bonds between atoms that have hydrogens, until ``most`` atoms are there."""
    from rdkit import Chem

    whole, names = Chem.RWMol(random.choice(parts).to_rdkit()), [""]
    for _ in range(40):
        if whole.GetNumAtoms() >= most:
            break
        part = random.choice(parts)
        molecule, name = part.to_rdkit(), part.to_smiles()
        ends = [[a.GetIdx() for a in m.GetAtoms() if a.GetTotalNumHs()] for m in (whole, molecule)]
        if whole.GetNumAtoms() + part.n > most or not all(ends) or any(apart(name, other) for other in names):
            continue
        i, j = random.choice(ends[0]), whole.GetNumAtoms() + random.choice(ends[1])
        merged = Chem.RWMol(Chem.CombineMols(whole, molecule))
        merged.AddBond(i, j, Chem.BondType.SINGLE)
        for atom in (merged.GetAtomWithIdx(i), merged.GetAtomWithIdx(j)):
            if atom.GetNumExplicitHs():
                atom.SetNumExplicitHs(atom.GetNumExplicitHs() - 1)
        try:
            Chem.SanitizeMol(merged)
        except ValueError:
            continue
        whole, names = merged, [*names, name]
    return Graph.from_rdkit(whole.GetMol(), hydrogens="implied")


def kept_apart(one: str, other: str) -> bool:
    """Whether two fragments are of the two lists, whose members training never joins."""
    return any(one in a and other in b for a, b in (FRAGMENTS, FRAGMENTS[::-1]))


def unseen_molecules(count: int) -> dict[str, list[Graph]]:
    """AIDS' test graphs, and molecules in which fragments of the two lists are joined in turn."""
    random, found = Random(1), []
    lists = [[from_smiles(smiles, hydrogens="implied") for smiles in some] for some in FRAGMENTS]
    while len(found) < count:
        parts = [random.choice(lists[k % 2]) for k in range(random.randint(3, 8))]
        graph = join_molecules(random, parts, ATOMS, lambda *_: False)
        if graph.n <= ATOMS:
            found.append(graph)
    return {"AIDS, test graphs": aids_molecules(), f"{count} molecules of fragments that training never joined": found}


def aids_molecules() -> list[Graph]:
    from rdkit import Chem

    table = Chem.GetPeriodicTable()
    test = datasets.split(datasets.load("AIDS"), 0)[2]
    found = []
    for graph in test:
        assert graph.node_categorical is not None and graph.edge_categorical is not None
        atoms = [(table.GetAtomicNumber(AIDS_ATOMS[kind]), 0, -1) for kind in graph.node_categorical[:, 0]]
        own = Graph(
            graph.n, graph.edges, node_categorical=atoms, edge_categorical=graph.edge_categorical + 1, name=graph.name
        )
        if graph.n <= ATOMS and _implied(own) is not None:
            found.append(own)
    return found


def _implied(graph: Graph) -> Graph | None:
    try:
        return with_implied_hydrogens(graph)
    except GeoGAEError:
        return None


def _every_element() -> list[Graph]:
    """One small molecule or ion of each element and charge that is common, so that its category is known."""
    found = []
    for smiles in RARE.split():
        try:
            found.append(from_smiles(smiles, hydrogens="implied"))
        except GeoGAEError as error:
            log.info("%s is left out: %s", smiles, error)
    return found


# -- graphs -----------------------------------------------------------------------------------------------------------

SOURCES = ("MUTAG", "AIDS", "IMDB-BINARY", "COLLAB", "SYNTHETICnew", "REDDIT-BINARY", "QM9")


def plain_graphs(count: int, random: Random, without: str = "") -> list[Graph]:
    """Equally many of every set, edited copies, and pairs that are joined, up to NODES nodes."""
    sources = [name for name in SOURCES if name != without]
    each = []
    for name in sources:
        known = [graph.topology() for graph in datasets.load(name) if graph.n <= NODES]
        each.append(random.sample(known, min(len(known), count // len(sources))))
    own = [graph for graphs in each for graph in graphs]
    edited = [Editor(graphs, edits=4, seed=0).copy(k) for graphs in each for k in range(len(graphs) // 2)]
    return [*own, *edited, *(join_graphs(random, own) for _ in range(count // 2))]


def join_graphs(random: Random, graphs: Sequence[Graph]) -> Graph:
    """Two graphs side by side, with an edge between them."""
    while True:
        one, other = random.choice(graphs), random.choice(graphs)
        if one.n + other.n <= NODES:
            break
    bridge = [[random.randrange(one.n), one.n + random.randrange(other.n)]]
    return Graph(one.n + other.n, np.concatenate([one.edges, other.edges + one.n, np.array(bridge)]))


def unseen_graphs(count: int) -> dict[str, list[Graph]]:
    names = ("IMDB-BINARY", "MUTAG", "AIDS")
    return {name: [g.topology() for g in datasets.split(datasets.load(name), 0)[2] if g.n <= NODES] for name in names}


# -- models -----------------------------------------------------------------------------------------------------------

RECIPES = {
    "molecules": Recipe(
        f"Molecules of up to {ATOMS} heavy atoms, with atoms, charges and bonds.",
        "MIT; QM9 is CC0.",
        f"Up to {ATOMS} heavy atoms; no stereochemistry, isotopes or radicals. Rare elements come back as another.",
        {"latent_dim": 384, "attributes": "decoded", "dim": 4, "order": "axis"},
        molecule_graphs,
        unseen_molecules,
        "QM9's heavy atoms, and molecules joined of them and of common fragments, with edited copies.",
    ),
    "graphs": Recipe(
        f"Graphs of up to {NODES} nodes of many kinds, without attributes.",
        "MIT; the TU collection's sets are free for research.",
        f"Up to {NODES} nodes; dense graphs beyond 60 nodes may lose edges.",
        {"latent_dim": 384, "dim": 5},
        plain_graphs,
        unseen_graphs,
        f"{', '.join(SOURCES)}: graphs of up to {NODES} nodes, edited copies, and pairs that are joined.",
        leave_out=True,
    ),
    "mutag": Recipe(
        "MUTAG's molecules, with their attributes; the model of the demo.",
        "MIT; MUTAG is free for research.",
        "Molecules like MUTAG's: up to 28 atoms of seven elements.",
        {"latent_dim": 128, "attributes": "decoded"},
        lambda count, random: datasets.split(datasets.load("MUTAG"), 0)[0],
        lambda count: {"MUTAG, test graphs": datasets.split(datasets.load("MUTAG"), 0)[2]},
        "70 % of MUTAG.",
    ),
}


def train(name: str, count: int, out: Path, tested: int = 1000) -> dict[str, Any]:
    """Fit a model, score it on what it never saw, and write it with its card."""
    recipe = RECIPES[name]
    graphs = recipe.training(count, Random(0))
    log.info("%s: %d training graphs of %.1f nodes", name, len(graphs), np.mean([graph.n for graph in graphs]))
    model = GeoGAE(**recipe.parameters).fit(graphs, progress=True)
    scores = {}
    for source, unseen in recipe.unseen(tested).items():
        judged = model
        if recipe.leave_out:
            judged = GeoGAE(**recipe.parameters).fit(plain_graphs(count, Random(0), without=source))
        scores[source] = {"graphs": len(unseen), **scored(judged, unseen)}
        log.info("%s on %s: %s", name, source, scores[source])
    model.save(out / name)
    (out / name / CARD).write_text(card(name, recipe, len(graphs), scores), encoding="utf-8")
    return scores


def scored(model: GeoGAE, graphs: Sequence[Graph]) -> dict[str, float]:
    pairs = model.reconstruct(graphs)
    true, back = [one for one, _ in pairs], [other for _, other in pairs]
    found = metrics.evaluate(true, back)
    if model.attributes == "decoded":
        found |= metrics.attributes(true, back)
    return {key: found[key] for key in ("f1", "exact", "whole", "size_error") if key in found}


def card(name: str, recipe: Recipe, count: int, scores: dict[str, dict[str, float]]) -> str:
    """The card in the hub's form: front matter, then what people want to know before they use a model."""
    columns = [
        key for key in ("graphs", "f1", "exact", "whole", "size_error") if any(key in row for row in scores.values())
    ]
    words = {
        "graphs": "graphs",
        "f1": "F1 [%]",
        "exact": "exact [%]",
        "whole": "whole [%]",
        "size_error": "size error, nodes",
    }

    def cell(key: str, row: dict[str, float]) -> str:
        value = row.get(key)
        if value is None:
            return "–"
        return f"{value:,.0f}" if key == "graphs" else f"{value:.3f}" if key == "size_error" else f"{100 * value:.2f}"

    table = [["source", *(words[key] for key in columns)], ["---"] * (len(columns) + 1)]
    table += [[source, *(cell(key, row) for key in columns)] for source, row in scores.items()]
    made = provenance()
    left_out = " Each is scored by a model that was fitted without it." if recipe.leave_out else ""
    return "\n".join(
        [
            "---", "library_name: geogae", "license: mit", "tags: [graphs, autoencoder]", "---", "",
            f"# {name}", "", recipe.about, "",
            "## Data", "", f"{recipe.data} {count:,} graphs in all.", "",
            "## Licence", "", recipe.licence, "",
            "## Scores", "", f"Graphs from z alone, of sources that the model never saw.{left_out}", "",
            *(f"| {' | '.join(row)} |" for row in table), "",
            "## Limits", "", recipe.limits, "",
            "## Use", "", "```python", f'model = GeoGAE.pretrained("{name}")', "```", "",
            "## Made by", "",
            f"`python benchmarks/pretrained.py {name}` at commit {made['commit']}{' (modified)' * made['modified']}, "
            f"{made['when']}; parameters {json.dumps(recipe.parameters)}.", "",
        ]
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(RECIPES), help=f"of {', '.join(RECIPES)}; all if not given")
    parser.add_argument(
        "--count", type=int, default=4000, help="joined training graphs; edited and plain ones come on top"
    )
    parser.add_argument("--tested", type=int, default=1000, help="unseen molecules that are written from fragments")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the models")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if unknown := [name for name in arguments.models if name not in RECIPES]:
        parser.error(f"there is no recipe {', '.join(unknown)}; valid are {', '.join(RECIPES)}")
    for name in arguments.models:
        train(name, arguments.count, arguments.out, arguments.tested)


if __name__ == "__main__":
    main()
