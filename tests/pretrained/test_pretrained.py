"""Models that come with the package, and models on a hub; the hub is a local folder here."""

from __future__ import annotations

import inspect
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geogae import GeoGAE, GeoGAEError, Graph, pretrained

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
    """The three functions of the hub with their real signatures, on a folder of repositories."""
    real = pytest.importorskip("huggingface_hub")
    root = tmp_path / "hub"

    def checked(name: str, function: Any) -> None:
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


def test_what_is_no_model_and_what_is_not_there(folder: Path, hub: Path, tmp_path: Path) -> None:
    with pytest.raises(GeoGAEError, match="is no folder"):
        pretrained.push_to_hub(tmp_path / "nothing", "me/nothing")
    with pytest.raises(GeoGAEError, match="cannot download hf:me/other: 404"):
        pretrained.hub_path("hf:me/other")
    with pytest.raises(GeoGAEError, match="no name on the hub"):
        pretrained.hub_path("hf:other")
