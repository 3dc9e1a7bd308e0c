"""Molecules through z on the command line: SMILES out, scores and a picture. The model is a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geogae import GeoGAE, Graph, formats
from geogae.cli import evaluate as verb
from shell import Run

pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")

SMILES = ["CCO", "c1ccccc1", "CC(=O)[O-]", "C#N"]
FIVE_BONDS = Graph(6, [(0, i) for i in range(1, 6)], node_categorical=[6] + [9] * 5, edge_categorical=[1] * 5)
SCORES = {"f1": 0.5, "f1_unweighted": 0.5, "exact": 0.5, "size_error": 1.0, "size_error_relative": 0.1}


class Model:
    """Decodes row i to graph i of a list, whatever the numbers are."""

    def __init__(self, graphs: list[Graph | None]) -> None:
        self.graphs = graphs

    def inverse_transform(self, z: np.ndarray) -> list[Graph | None]:
        return self.graphs[: len(z)]

    def reconstruct(self, graphs: list[Graph]) -> list[tuple[Graph, Graph | None]]:
        return list(zip(graphs, self.graphs, strict=False))

    def evaluate(self, graphs: list[Graph]) -> dict[str, float]:
        return SCORES


@pytest.fixture
def decodes(run: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run whose model decodes the given graphs; z.npy has a row for each, true.smi holds SMILES."""
    Path("true.smi").write_text("".join(f"{smiles}\n" for smiles in SMILES))

    def decodes(*graphs: Graph | None) -> None:
        Path("run").mkdir(exist_ok=True)
        monkeypatch.setattr(GeoGAE, "load", lambda path: Model(list(graphs)))
        np.save("z.npy", np.zeros((len(graphs), 3)))

    return decodes


def molecules() -> list[Graph]:
    return [Graph.from_smiles(smiles) for smiles in SMILES]


def test_decode_to_smiles(run: Run, decodes: Any) -> None:
    decodes(*molecules())
    assert run("decode", "run", "z.npy", "-o", "sub/back.smi") == (0, "", "note: wrote sub/back.smi: 4 molecules\n")
    assert Path("sub/back.smi").read_text() == "CCO z/0\nc1ccccc1 z/1\nCC(=O)[O-] z/2\nC#N z/3\n"
    assert formats.read("sub/back.smi") == formats.read("true.smi")
    assert [path.name for path in Path("sub").iterdir()] == ["back.smi"]


def test_decode_names_the_rows_that_are_no_molecules(run: Run, decodes: Any) -> None:
    first, second, *_ = molecules()
    decodes(FIVE_BONDS, first, FIVE_BONDS, second)
    code, out, err = run("decode", "run", "z.npy", "-o", "back.smi")
    assert (code, out) == (0, "")
    said = "warning: 2 of 4 rows are not valid molecules and left out: 0, 2\n"
    assert err == f"{said}note: wrote back.smi: 2 molecules\n"
    assert Path("back.smi").read_text() == "CCO z/1\nc1ccccc1 z/3\n"
    decodes(*[FIVE_BONDS] * 30)
    code, out, err = run("decode", "run", "z.npy", "-o", "back.smi")
    assert code == 0 and "warning: 30 of 30 rows" in err and "18, 19, …\n" in err and "20" not in err.split(":")[2]
    assert Path("back.smi").read_text() == ""


def test_molecules_are_written_block_by_block(run: Run, decodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, inner = list[int](), formats.to_smiles_list
    monkeypatch.setattr(formats, "to_smiles_list", lambda graphs: sizes.append(len(graphs)) or inner(graphs))
    monkeypatch.setattr("geogae.streaming.BLOCK", 3)
    first = molecules()[0]
    decodes(*[first] * 4, FIVE_BONDS, first, FIVE_BONDS)
    code, _, err = run("decode", "run", "z.npy", "-o", "back.smi")
    assert (code, sizes) == (0, [3, 3, 1])
    assert "warning: 2 of 7 rows are not valid molecules and left out: 4, 6\n" in err
    assert Path("back.smi").read_text() == "".join(f"CCO z/{row}\n" for row in (0, 1, 2, 3, 5))


def test_decode_to_parquet(run: Run, decodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    decodes(*molecules())
    assert run("decode", "run", "z.npy", "-o", "back.parquet") == (0, "", "note: wrote back.parquet\n")
    assert formats.read("back.parquet") == molecules()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    code, _, err = run("decode", "run", "z.npy", "-o", "other.parquet")
    assert code == 2 and "geogae[parquet]" in err and not Path("other.parquet").exists()


@pytest.mark.parametrize(
    "arguments", [("decode", "run", "z.npy", "-o", "back.smi"), ("evaluate", "run", "true.smi", "--molecules", "x.png")]
)
def test_a_model_without_atoms(run: Run, decodes: Any, arguments: tuple[str, ...]) -> None:
    decodes(*(graph.topology() for graph in molecules()))
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(
        "error: run decodes graphs without atoms (0 node_categorical columns), which are no molecules;"
    )
    assert sorted(path.name for path in Path().iterdir()) == ["run", "true.smi", "z.npy"]


def test_evaluate_molecules(run: Run, decodes: Any) -> None:
    first = molecules()[0]
    decodes(first.relabel([1, 2, 0]), first, FIVE_BONDS, None)
    code, out, err = run("evaluate", "run", "true.smi", "--json", "--molecules", "grid.png")
    assert (code, err) == (0, "")
    what = {"run": "run", "data": "true.smi", "graphs": 4}
    assert json.loads(out) == {**what, **SCORES, "valid": 0.5, "same_smiles": 0.25}
    assert Path("grid.png").read_bytes().startswith(b"\x89PNG")
    code, out, err = run("evaluate", "run", "true.smi", "--molecules", "grid.svg")
    assert (code, err) == (0, "") and Path("grid.svg").read_text().startswith("<?xml")
    assert [line.split("  ")[0] for line in out.splitlines()][-2:] == ["valid molecules", "same SMILES"]
    assert [line.split()[-2:] for line in out.splitlines()][-2:] == [["50.00", "%"], ["25.00", "%"]]
    assert "valid" not in json.loads(run("evaluate", "run", "true.smi", "--json").out)


def test_evaluate_graphs_that_are_no_molecules(run: Run, decodes: Any) -> None:
    decodes(*molecules())
    formats.write([FIVE_BONDS] * 2, "true.jsonl")
    code, out, err = run("evaluate", "run", "true.jsonl", "--molecules", "grid.png")
    assert (code, out, err.count("\n")) == (2, "", 1) and not Path("grid.png").exists()
    assert err.startswith("error: none of the 2 true graphs is a valid molecule; give graphs whose categories are")
    code, out, err = run("evaluate", "run", "true.jsonl", "--molecules", "grid.pdf")
    assert (code, err) == (2, "error: cannot write grid.pdf: its suffix must be .png or .svg\n")


def test_help_names_the_molecules(run: Run) -> None:
    assert "geogae decode runs/qm9 z.npy -o back.smi" in run("decode", "--help").out
    assert "geogae evaluate runs/qm9 --molecules grid.png" in run("evaluate", "--help").out
    assert verb.DRAWN_MOLECULES == 12
