"""Train the models that come with the package and write their cards.

    python benchmarks/pretrained.py [NAME …]

``molecules``: heavy atoms with elements, charges, hydrogens and bonds, up to 60 atoms. It is fitted on molecules of
QM9, AIDS and MUTAG, on molecules joined from their pieces, and on single atoms, so that it knows every element.
``graphs``: no attributes, up to 100 nodes, from social,
chemical and generated graphs. ``mutag``: the preset, for the demo. What is scored was never in training;
the public sets of molecules that ``molecules`` is scored on come with RDKit.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from geogae import GeoGAE, Graph, datasets, metrics
from geogae.benchmark.provenance import provenance
from geogae.formats import from_rdkit, to_smiles_list
from geogae.formats.optional import require
from geogae.pretrained import CARD

FOLDER = Path(__file__).parent.parent / "src" / "geogae" / "pretrained"
SINGLE = 1  # RDKit's type of a single bond
MOST_ATOMS, MOST_NODES = 60, 100

# Fragments that are joined to molecules for training, and others for the test: training never joins those.
TRAINING_FRAGMENTS = (  # noqa: SIM905
    "c1ccccc1 c1ccncc1 C1CCNCC1 C1CNCCN1 C1COCCN1 c1ccc2ccccc2c1 c1cnc[nH]1 c1ccsc1 c1ccoc1 C1CCCCC1 C1CC1 CC(=O)N "
    "CC(=O)O CS(=O)(=O)N CC(F)(F)F CCl CBr CC#N CO CN C=C C#C CC(C)C c1cc[nH]c1 c1ccc2[nH]ccc2c1 CC(=O)OC NC(=O)N CSC "
    "C[N+](=O)[O-] CF c1ncncn1 c1nnc[nH]1 C1CCOC1 C1CCCC1 CP(=O)(O)O CC=O C1CCNC1 c1cscn1 CI c1cnoc1 "
).split()
RARE_CHARGES = (-4, -3, -2, -1, 1, 2, 3, 4)
HEAVIEST = 92  # uranium
PUBLIC, TAKEN = {  # files of RDKit's package: a SMILES first in each line; so many molecules of each are scored
    "NCI, the first 5,000": "Data/NCI/first_5K.smi",
    "screening compounds of WEHI": "Data/Pains/test_data/wehi_mols.csv",
    "ChEMBL, document 2321810": "Contrib/FreeWilson/data/CHEMBL2321810.smi",
    "ChEMBL, target 11265": "Contrib/fraggle/data/ChEMBL_11265_actives.smi",
    "ZINC": "Contrib/SA_Score/data/zim.100.txt",
}, 1000  # fmt: skip
TEST_FRAGMENTS = (  # noqa: SIM905
    "c1ccc2ncccc2c1 c1ccc2c(c1)OCO2 C1CCC2CCCCC2C1 c1ccc2[nH]cnc2c1 C1CC2CCC1N2 c1cnc2ccccc2n1 CS(=O)(=O)C CC(C)(C)O "
    "CC(=O)NC OCCO c1ccc2scnc2c1 C1CCNCCC1 c1nc2ccccc2o1 FC(F)Oc1ccccc1 NS(=O)(=O)c1ccccc1 O=C1CCCN1 O=c1cc[nH]cc1 "
    "C1COCCO1 CN1CCNCC1 Clc1ccc(Cl)cc1 N#Cc1ccccc1 c1ccc(-c2ccccc2)cc1 C1=CCCCC1 CNC(=O)OC c1csc(Br)n1 "
).split()


# -- molecules --------------------------------------------------------------------------------------------------------


def molecule(symbols: Sequence[str], charges: Sequence[int], bonds: Sequence[tuple[int, int, int]]) -> Graph | None:
    """From atoms and kekulised bond orders; None if RDKit does not take it."""
    chem = require("rdkit.Chem", "chem")
    made = chem.RWMol()
    for symbol, charge in zip(symbols, charges, strict=True):
        atom = chem.Atom(symbol)
        atom.SetFormalCharge(charge)
        made.AddAtom(atom)
    kinds = {1: chem.BondType.SINGLE, 2: chem.BondType.DOUBLE, 3: chem.BondType.TRIPLE, 4: chem.BondType.AROMATIC}
    for i, j, order in bonds:
        made.AddBond(i, j, kinds[order])
    try:
        chem.SanitizeMol(made)
        return from_rdkit(made.GetMol())
    except (ValueError, RuntimeError):
        return None


AIDS_SYMBOLS = (  # noqa: SIM905
    "C O N Cl F S Se P Na I Co Br Li Si Mg Cu As B Pt Ru K Pd Au Te W Rh Zn Bi Pb Ge Sb Sn Ga Hg Ho Tl Ni Tb "
).split()
MUTAG_SYMBOLS = ("C", "N", "O", "F", "I", "Cl", "Br")


def aids_molecule(graph: Graph) -> Graph | None:
    symbols = [AIDS_SYMBOLS[code] for code in graph.node_categorical[:, 0]]
    charges = np.rint(graph.node_continuous[:, 1]).astype(int).tolist()
    rows = zip(graph.edges.tolist(), graph.edge_categorical[:, 0].tolist(), strict=True)
    bonds = [(i, j, kind + 1) for (i, j), kind in rows]
    return molecule(symbols, charges, bonds)


def mutag_molecule(graph: Graph) -> Graph | None:
    """MUTAG has nitro groups without charges: N of four bonds is N+, and the oxygen with one bond to it O-."""
    symbols = [MUTAG_SYMBOLS[code] for code in graph.node_categorical[:, 0]]
    orders = {0: 4, 1: 1, 2: 2, 3: 3}
    rows = zip(graph.edges.tolist(), graph.edge_categorical[:, 0].tolist(), strict=True)
    bonds = [(i, j, orders[kind]) for (i, j), kind in rows]
    total = np.zeros(graph.n)
    for i, j, order in bonds:
        total[[i, j]] += 1.5 if order == 4 else order
    charges = [int(symbol == "N" and total[node] >= 4) for node, symbol in enumerate(symbols)]
    for i, j, order in bonds:
        for one, other in ((i, j), (j, i)):
            if charges[one] == 1 and symbols[other] == "O" and total[other] == 1 and order == 1:
                charges[other] = -1
    return molecule(symbols, charges, bonds)


def joined(one: Graph, other: Graph, random: np.random.Generator) -> Graph | None:
    """Two molecules with a single bond between them, in the place of a hydrogen of each; None if there is none."""
    places = [np.flatnonzero(graph.node_categorical[:, 2] > 0) for graph in (one, other)]
    if not len(places[0]) or not len(places[1]):
        return None
    u, v = (int(random.choice(place)) for place in places)
    atoms = np.concatenate([one.node_categorical, other.node_categorical])
    atoms[u, 2] -= 1
    atoms[one.n + v, 2] -= 1
    edges = np.concatenate([one.edges, other.edges + one.n, [[u, one.n + v]]])
    blocks = [graph.edge_categorical for graph in (one, other) if graph.edge_categorical is not None]
    kinds = np.concatenate([*(block for block in blocks if len(block)), [[SINGLE]]])
    return Graph(len(atoms), edges, node_categorical=atoms, edge_categorical=kinds)


def crossed(one: Graph, other: Graph, random: np.random.Generator) -> Graph | None:
    """A piece of one molecule and a piece of another, each cut off at a single bond in no ring, joined there."""
    pieces = [piece(graph, random) for graph in (one, other)]
    if pieces[0] is None or pieces[1] is None:
        return None
    (left, u), (right, v) = pieces
    edges = np.concatenate([left.edges, right.edges + left.n, [[u, left.n + v]]])
    blocks = [graph.edge_categorical for graph in (left, right) if len(graph.edges)]
    kinds = np.concatenate([*blocks, [[SINGLE]]])
    atoms = np.concatenate([left.node_categorical, right.node_categorical])
    return Graph(len(atoms), edges, node_categorical=atoms, edge_categorical=kinds)


def piece(graph: Graph, random: np.random.Generator) -> tuple[Graph, int] | None:
    """One side of a bond that is cut, and the atom of it that the bond was at."""
    bridges = set(nx.bridges(graph.topology().to_networkx()))
    single = graph.edge_categorical[:, 0] == SINGLE if len(graph.edges) else np.zeros(0, bool)
    cuts = [edge for edge, one in zip(graph.edges.tolist(), single, strict=True)
            if one and (tuple(edge) in bridges or tuple(edge[::-1]) in bridges)]  # fmt: skip
    if not cuts:
        return None
    i, j = cuts[int(random.integers(len(cuts)))]
    if random.random() < 0.5:
        i, j = j, i
    without = graph.topology().to_networkx()
    without.remove_edge(i, j)
    nodes = np.array(sorted(nx.node_connected_component(without, i)))
    return graph.subgraph(nodes), int(np.searchsorted(nodes, i))


def built(pool: Sequence[Graph], count: int, most: int, random: np.random.Generator) -> list[Graph]:
    """Molecules of up to ``most`` atoms, sizes about even, joined and crossed from a pool."""
    made: list[Graph] = []
    while len(made) < count:
        wanted = int(random.integers(8, most + 1))
        current: Graph | None = pool[int(random.integers(len(pool)))]
        for _ in range(12):
            if current is None or current.n >= wanted:
                break
            partner = pool[int(random.integers(len(pool)))]
            step = joined if random.random() < 0.7 else crossed
            grown = step(current, partner, random)
            current = grown if grown is not None and grown.n <= most else current
        if current is not None and current.n <= most and nx.is_connected(current.topology().to_networkx()):
            made.append(current.with_attributes())
    return made


def single_atoms() -> list[Graph]:
    """Each element, and each charge that is found in salts and complexes: what the joined molecules lack."""
    table = require("rdkit.Chem", "chem").GetPeriodicTable()
    symbols = [table.GetElementSymbol(number) for number in range(1, HEAVIEST + 1)]
    charges = [f"[Fe{charge:+d}]" for charge in RARE_CHARGES]
    return [Graph.from_smiles(smiles) for smiles in (*(f"[{symbol}]" for symbol in symbols), *charges)]


def public_molecules(file: str) -> list[str]:
    """The SMILES of a file in RDKit's package that RDKit takes, a thousand of them at random."""
    chem, config = require("rdkit.Chem", "chem"), require("rdkit.RDConfig", "chem")
    kind, _, inner = file.partition("/")
    folder = Path(config.RDDataDir if kind == "Data" else config.RDContribDir)
    found = [re.split(r"[\s,]", line)[0].strip('"') for line in (folder / inner).read_text().splitlines()]
    valid = [smiles for smiles in found if (made := chem.MolFromSmiles(smiles)) is not None and made.GetNumAtoms()]
    return [valid[i] for i in np.random.default_rng(0).permutation(len(valid))[:TAKEN]]


def flat_smiles(smiles: str) -> str:
    """The canonical SMILES by RDKit alone, without what the graph does not have: stereochemistry and isotopes."""
    chem = require("rdkit.Chem", "chem")
    flat = chem.MolFromSmiles(smiles)
    for atom in flat.GetAtoms():
        atom.SetIsotope(0)
    chem.RemoveStereochemistry(flat)
    return str(chem.CanonSmiles(chem.MolToSmiles(chem.RemoveHs(flat))))


def public_scores(model: GeoGAE) -> dict[str, dict[str, float]]:
    """Of molecules from sources that were no part of training: the share whose SMILES comes back."""
    scores = {}
    for name, file in PUBLIC.items():
        given = public_molecules(file)
        back = [decoded for _, decoded in model.reconstruct([Graph.from_smiles(smiles) for smiles in given])]
        same = [flat_smiles(one) == other for one, other in zip(given, to_smiles_list(back), strict=True)]
        scores[f"{name} (with RDKit)"] = {"graphs": len(given), "same_smiles": float(np.mean(same))}
    return scores


def back_whole(model: GeoGAE, graphs: Sequence[Graph]) -> dict[str, float]:
    pairs = model.reconstruct(list(graphs))
    true, back = [graph for graph, _ in pairs], [graph for _, graph in pairs]
    wanted, found = to_smiles_list(true), to_smiles_list(back)
    scored = [one == other for one, other in zip(wanted, found, strict=True) if one is not None]
    whole = [b is not None and metrics.same_categories(t, b) for t, b in pairs]
    return {"graphs": len(graphs), "whole": float(np.mean(whole)), "same_smiles": float(np.mean(scored))}


def molecules() -> tuple[GeoGAE, dict[str, Any]]:
    random = np.random.default_rng(0)
    qm9 = [from_default(graph) for graph in datasets.sample(datasets.load("QM9"), 12_000, 0)]
    train, validation, test = datasets.split(datasets.load("AIDS"), seed=0)
    aids = [[m for graph in part if (m := aids_molecule(graph)) is not None and m.n <= MOST_ATOMS]
            for part in (train, validation, test)]  # fmt: skip
    mutag = [m for graph in datasets.load("MUTAG") if (m := mutag_molecule(graph)) is not None]
    small = [Graph.from_smiles(smiles) for smiles in TRAINING_FRAGMENTS]
    pool = [*qm9[:4000], *aids[0], *aids[0], *mutag, *(small * 60)]
    made = built(pool, 16_000, MOST_ATOMS, random)
    known = [*qm9[:6000], *(aids[0] * 2), *mutag, *small, *made, *single_atoms()]
    choose = [*aids[1], *built(pool, 300, MOST_ATOMS, random)]
    model = GeoGAE(
        attributes="decoded", latent_dim=384, dim=4, order="axis", descriptor=16, leaves="kept", twins="kept"
    )
    model.fit(known, validation=choose)
    unseen = built([Graph.from_smiles(smiles) for smiles in TEST_FRAGMENTS], 1000, MOST_ATOMS, random)
    scores = {
        "AIDS, test molecules": back_whole(model, aids[2]),
        "joined from unseen fragments": back_whole(model, unseen),
    }
    scores["QM9, not in training"] = back_whole(model, qm9[-1000:])
    scores |= public_scores(model)
    return model, {
        "purpose": "SMILES and RDKit molecules of up to 60 heavy atoms: exact codes, search, comparison.",
        "data": f"{len(known)} molecules: QM9, AIDS (training split), MUTAG, molecules joined from their pieces, and "
        "single atoms of all elements up to uranium",
        "scores": scores,
        "limits": "Stereochemistry, isotopes and atom maps are not part of the graph and do not come "
        "back. Dative bonds are refused. Molecules of more than 60 heavy atoms are encoded as well as possible, with a "
        "warning that they may not come back whole; above 240 they are refused.",
    }


def from_default(graph: Graph) -> Graph:
    """A molecule of QM9, which has hydrogens as nodes, as SMILES are read: with the number of hydrogens as a column."""
    chem = require("rdkit.Chem", "chem")
    return from_rdkit(chem.RemoveHs(graph.to_rdkit()))


# -- graphs -----------------------------------------------------------------------------------------------------------

SOURCES = ("MUTAG", "AIDS", "IMDB-BINARY", "COLLAB", "REDDIT-BINARY", "QM9")


def plain(name: str, count: int) -> list[Graph]:
    graphs = [graph.topology() for graph in datasets.load(name) if graph.n <= MOST_NODES]
    return datasets.sample(graphs, min(count, len(graphs)), 0)


def generated(count: int, random: np.random.Generator) -> Iterator[Graph]:
    for _ in range(count):
        n, seed = int(random.integers(5, MOST_NODES + 1)), int(random.integers(2**31))
        kinds: list[Callable[[], Any]] = [
            lambda n=n, seed=seed: nx.random_labeled_tree(n, seed=seed),
            lambda n=n, seed=seed: nx.barabasi_albert_graph(n, 1 + seed % 3, seed=seed),
            lambda n=n, seed=seed: nx.connected_watts_strogatz_graph(n, 4, 0.2, seed=seed),
            lambda n=n, seed=seed: nx.gnp_random_graph(min(n, 40), 0.15, seed=seed),
            lambda n=n: nx.convert_node_labels_to_integers(nx.grid_2d_graph(max(2, int(n**0.5)), max(2, int(n**0.5)))),
            lambda n=n, seed=seed: nx.random_partition_graph([min(n, 60) // 3 + 1] * 3, 0.8, 0.02, seed=seed),
        ]
        yield Graph.from_networkx(kinds[seed % len(kinds)]())


def fit_graphs(sources: Sequence[str]) -> tuple[GeoGAE, int]:
    from geogae.training.edits import EDITS, Editor

    random = np.random.default_rng(0)
    known = [graph for name in sources for graph in plain(name, 1500)]
    editor = Editor(known, edits=6, kinds=list(EDITS))
    known += [editor.copy(number) for number in range(3000)] + list(generated(2000, random))
    model = GeoGAE(latent_dim=512, dim=9, leaves="kept", twins="folded", descriptor=16)
    model.fit(known)
    return model, len(known)


def graphs() -> tuple[GeoGAE, dict[str, Any]]:
    scores = {}
    for name in ("MUTAG", "AIDS", "IMDB-BINARY"):
        model, _ = fit_graphs([source for source in SOURCES if source != name])
        _, _, test = datasets.split(datasets.load(name), seed=0)
        measured = model.evaluate([graph.topology() for graph in test if graph.n <= MOST_NODES])
        scores[f"{name}, test graphs, by a model that was fitted without {name}"] = {
            "f1": measured["f1"], "exact": measured["exact"],
        }  # fmt: skip
    model, count = fit_graphs(SOURCES)
    return model, {
        "purpose": "Graphs without attributes of up to 100 nodes, from many fields.",
        "data": f"{count} graphs: {', '.join(SOURCES)} (up to {MOST_NODES} nodes), edited and generated graphs",
        "scores": scores,
        "limits": "Dense irregular graphs of more than about 60 nodes may come back with single wrong edges.",
    }


def mutag() -> tuple[GeoGAE, dict[str, Any]]:
    train, validation, test = datasets.split(datasets.load("MUTAG"), seed=0)
    model = GeoGAE.from_preset("mutag", seed=0).fit(train, validation=validation)
    measured = model.evaluate(test)
    return model, {
        "purpose": "The demo, and a first try.",
        "data": f"{len(train)} training graphs of MUTAG, seed 0",
        "scores": {"MUTAG, test graphs": {"f1": measured["f1"], "exact": measured["exact"]}},
        "limits": "Graphs like those of MUTAG: molecules of up to 28 atoms, without attributes.",
    }


def written(name: str, card: dict[str, Any]) -> str:
    """The card as Markdown, with what the hub reads before it."""
    scores = ["| graphs, none of them in training | scores |", "| --- | --- |"]
    for graphs, measured in card["scores"].items():
        rates = ", ".join(
            f"{kind.replace('_', ' ')} {value:,.0f}"
            if kind == "graphs"
            else f"{kind.replace('_', ' ')} {100 * value:.1f} %"
            for kind, value in measured.items()
        )
        scores.append(f"| {graphs} | {rates} |")
    parameters = "".join(f"- `{key} = {value!r}`\n" for key, value in card["parameters"].items())
    return f"""---
license: mit
library_name: geogae
tags: [graph-autoencoder]
---
# {name}

{card["purpose"]}

**Data.** {card["data"]}. The weights are under the MIT licence; the data are under the terms of their sources.

**Scores.** Made by `python benchmarks/pretrained.py {name}` in {card["cpu_seconds"]} s, commit {card["commit"]}.

{chr(10).join(scores)}

**Limits.** {card["limits"]}

**Parameters.**

{parameters}"""


MODELS: dict[str, Callable[[], tuple[GeoGAE, dict[str, Any]]]] = {
    "mutag": mutag, "molecules": molecules, "graphs": graphs,
}  # fmt: skip

if __name__ == "__main__":
    logging.getLogger("geogae").setLevel(logging.ERROR)
    require("rdkit.RDLogger", "chem").DisableLog("rdApp.*")  # molecules that are none are passed over
    for name in sys.argv[1:] or MODELS:
        began = time.process_time()
        model, card = MODELS[name]()
        model.save(FOLDER / name)
        card |= {"parameters": model.get_params(), "cpu_seconds": round(time.process_time() - began), **provenance()}
        (FOLDER / name / CARD).write_text(written(name, card), encoding="utf-8")
        print(json.dumps({name: card["scores"]}, indent=1))
