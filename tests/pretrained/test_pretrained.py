"""Models that come with the package, and models on a hub; the hub is a local folder here."""

from __future__ import annotations

import inspect
import shutil
import sys
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from geogae import GeoGAE, GeoGAEError, Graph, pretrained
from geogae.formats import to_smiles_list

GRAPHS = [Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in range(3, 9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = GeoGAE("linear", latent_dim=24)
    model.fit(GRAPHS).save(tmp_path / "cycles")
    (tmp_path / "cycles" / "README.md").write_text(
        "---\nlicense: mit\n---\n\n# cycles\n\nCycles of 3 to 8. And more.\n"
    )
    return tmp_path / "cycles"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The three functions of the hub on a folder of repositories, with their real signatures where it is installed."""
    installed = find_spec("huggingface_hub") is not None
    real = import_module("huggingface_hub") if installed else ModuleType("huggingface_hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", real)
    root = tmp_path / "hub"

    def checked(name: str, function: Any) -> None:
        if not installed:
            setattr(real, name, lambda repo_id=None, **named: function(repo_id=repo_id, **named))
            return
        signature = inspect.signature(getattr(real, name))

        def call(*values: Any, **named: Any) -> Any:
            bound = signature.bind(*values, **named)  # as the real one would take it
            return function(**{k: v for k, v in bound.arguments.items() if k != "self"})

        monkeypatch.setattr(real, name, call)

    def upload(repo_id: str, folder_path: str, allow_patterns: list[str], **_: Any) -> str:
        for file in Path(folder_path).iterdir():
            if any(fnmatch(file.name, pattern) for pattern in allow_patterns):
                shutil.copy(file, root / repo_id / file.name)
        return f"https://hub/{repo_id}"

    def download(repo_id: str, **_: Any) -> str:
        if not (root / repo_id).is_dir():
            raise OSError("404: no such repository")
        return str(root / repo_id)

    checked("create_repo", lambda repo_id, **_: (root / repo_id).mkdir(parents=True, exist_ok=True))
    checked("upload_folder", upload)
    checked("snapshot_download", download)
    return root


def test_names_paths_and_cards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "_root", lambda: folder.parent)
    assert pretrained.names() == ["cycles"]
    assert pretrained.path("cycles") == folder
    assert pretrained.card("cycles").startswith("# cycles")
    assert pretrained.summaries() == {"cycles": "Cycles of 3 to 8."}
    with pytest.raises(GeoGAEError, match=r"no pretrained model 'circles'; valid are cycles"):
        pretrained.path("circles")


def test_every_model_of_the_package_loads_and_has_a_card() -> None:
    for name in pretrained.names():
        assert GeoGAE.load(pretrained.path(name)).latent_dim > 1
        assert all(word in pretrained.card(name).lower() for word in ("data", "licence", "scores", "limits"))


def test_to_the_hub_and_back(folder: Path, hub: Path) -> None:
    (folder / "secret.pickle").write_text("never uploaded")
    assert pretrained.push_to_hub(folder, "me/cycles") == "https://hub/me/cycles"
    assert not (hub / "me/cycles/secret.pickle").exists()
    back = GeoGAE.load(pretrained.path("hf:me/cycles"))
    assert np.array_equal(back.encode(GRAPHS), GeoGAE.load(folder).encode(GRAPHS))


def test_a_fitted_model_to_the_hub_and_back(hub: Path) -> None:
    model = GeoGAE("linear", latent_dim=24).fit(GRAPHS)
    assert model.push_to_hub("me/fitted", card="# fitted\n\nCycles.") == "https://hub/me/fitted"
    back = GeoGAE.from_pretrained("hf:me/fitted")
    assert np.array_equal(back.encode(GRAPHS), model.encode(GRAPHS))
    assert pretrained.card("hf:me/fitted").startswith("# fitted")
    with pytest.raises(GeoGAEError, match=r"no pretrained model 'nothing'; valid are"):
        GeoGAE.from_pretrained("nothing")


def test_the_package_has_its_three_models_and_they_are_small() -> None:
    assert sorted(GeoGAE.pretrained()) == ["graphs", "molecules", "mutag"] == pretrained.names()
    files = [file for name in pretrained.names() for file in pretrained.path(name).iterdir()]
    assert sum(file.stat().st_size for file in files) < 10e6


DRUGS = (  # noqa: SIM905
    "CC(=O)Oc1ccccc1C(=O)O Cc1ccc(-c2cc(C(F)(F)F)nn2-c2ccc(S(N)(=O)=O)cc2)cc1 CN1CCC23C4Oc5c3c(CC1C2C=CC4O)ccc5O "
    "CC(C)CC(NC(=O)C(Cc1ccccc1)NC(=O)c1cnccn1)B(O)O C[N+](C)(C)CC(O)CC(=O)[O-] "
    "CC[n+]1c(-c2ccccc2)c2cc(N)ccc2c2ccc(N)cc21 FS(F)(F)(F)(F)c1ccccc1 Fc1ccc(cc1)[Si](C)(Cn1cncn1)c1ccc(F)cc1 "
    "NCCCC(O)(P(=O)(O)O)P(=O)(O)O [N-]=[N+]=NCc1ccccc1 CN=S(C)(=O)c1ccccc1 C1COCCOCCOCCOCCOCCO1 "
    "c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61 "
    "C[S+](C)CCC(N)C(=O)[O-] O=[N+]([O-])C "
    "O=C(CCCN1CCC2(CC1)N(CNC2=O)c1ccccc1)c1ccc(F)cc1 CN(C)CCOC(c1ccccc1)c1ccccc1.Cl CC(=O)[O-].[Na+] [O-][n+]1ccccc1 "
    "CCC1OC(=O)C(C)C(OC2CC(C)(OC)C(O)C(C)O2)C(C)C(OC2OC(C)CC(C2O)N(C)C)C(C)(O)CC(C)C(=O)C(C)C(O)C1(C)O [2H]C([2H])Cl "
    "C/C=C/[C@H](F)Cl CC(=O)[O-].CC(=O)[O-].[Ca+2] C12C3C4C1C5C2C3C45 Ic1c(I)cc(CC(N)C(=O)O)cc1Oc1cc(I)c(O)c(I)c1 "
).split()


def test_molecules_of_many_kinds_come_back() -> None:
    """Charges, rare elements and valences, rings of all sizes, salts; without stereochemistry and isotopes."""
    chem = pytest.importorskip("rdkit.Chem")
    model = GeoGAE.pretrained("molecules")
    graphs = [Graph.from_smiles(smiles) for smiles in DRUGS]
    wanted = [chem.CanonSmiles(smiles.replace("[2H]", "[H]"), useChiral=0).replace("/", "") for smiles in DRUGS]
    found = to_smiles_list(model.decode(model.encode(graphs)))
    assert [pair for pair in zip(wanted, found, strict=True) if pair[0] != pair[1]] == []


def test_what_is_no_model_and_what_is_not_there(folder: Path, hub: Path, tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match="is no folder"):
        pretrained.push_to_hub(tmp_path / "nothing", "me/nothing")
    with pytest.raises(GeoGAEError, match="cannot download hf:me/other: 404"):
        pretrained.hub_path("hf:me/other")
    with pytest.raises(GeoGAEError, match="no name on the hub"):
        pretrained.hub_path("hf:other")
