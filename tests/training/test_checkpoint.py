"""Checkpoints: bit for bit, whole or not there, and one clear line for what is neither."""

from __future__ import annotations

import errno
import os
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from safetensors.torch import save_file
from toys import files

from geogae import GeoGAEError
from geogae.training.checkpoint import load_checkpoint, save_checkpoint

TENSORS = {
    "half": torch.randn(3, 5).bfloat16(),
    "whole": torch.arange(7),
    "bytes": torch.arange(256, dtype=torch.uint8),
    "truth": torch.tensor([True, False]),
    "scalar": torch.tensor(1.5),
    "odd": torch.tensor([float("nan"), float("inf"), -0.0]),
    "turned": torch.arange(6.0).reshape(2, 3).T,
}
FACTS = {"step": 3, "best": float("-inf"), "history": [{"seconds": 0.1, "name": "é"}], "done": False, "none": None}


def full_disk(*_: Any) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_round_trip(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "new" / "x", TENSORS, FACTS)
    tensors, facts = load_checkpoint(tmp_path / "new" / "x")
    assert facts == FACTS
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype and tensors[name].shape == tensor.shape
        assert tensors[name].flatten().view(torch.uint8).equal(tensor.flatten().view(torch.uint8))


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "whole", TENSORS, FACTS)
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    (tmp_path / "no header").write_bytes(content[:4])
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("something else altogether")
    save_file({"x": torch.zeros(2)}, tmp_path / "foreign")
    save_file({"x": torch.zeros(2)}, tmp_path / "facts", metadata={"geogae": "{no json"})
    for name in ("cut", "no header", "empty", "text", "foreign", "facts"):
        with pytest.raises(GeoGAEError, match=f"{name} is not a whole geogae checkpoint .*; restore it or train") as e:
            load_checkpoint(tmp_path / name)
        assert "\n" not in str(e.value)
    for name in ("missing", "."):
        with pytest.raises(GeoGAEError, match="is missing: the folder holds no whole model"):
            load_checkpoint(tmp_path / name)


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/run\xff/state")
    save_checkpoint(path, TENSORS, FACTS)
    assert load_checkpoint(path)[1] == FACTS


def test_whatever_is_changed_is_detected(tmp_path: Path) -> None:
    """In the facts, in their names, in the shapes and in the tensors."""
    path = tmp_path / "x"
    save_checkpoint(path, {"a": torch.arange(3.0), "b": torch.zeros(2, 2)}, {"step": 12, "history": [{"f1": 0.25}]})
    content = path.read_bytes()
    changed = 0
    for at in range(8, len(content)):
        for byte in {ord("9"), ord(" "), content[at] ^ 1} - {content[at]}:
            path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
            try:
                tensors, facts = load_checkpoint(path)
            except GeoGAEError as error:
                assert "\n" not in str(error)
                changed += 1
            else:  # white space after the header
                assert facts == {"step": 12, "history": [{"f1": 0.25}]} and tensors["a"].tolist() == [0, 1, 2]
    assert changed > 2.5 * (len(content) - 20)


def test_one_without_a_checksum(tmp_path: Path) -> None:
    """As versions before wrote them."""
    save_file({"x": torch.zeros(2)}, tmp_path / "older", metadata={"geogae": '{"step": 3}'})
    assert load_checkpoint(tmp_path / "older")[1] == {"step": 3}
    save_file({"x": torch.zeros(2)}, tmp_path / "list", metadata={"geogae": "[3]"})
    with pytest.raises(GeoGAEError, match="not a whole geogae checkpoint"):
        load_checkpoint(tmp_path / "list")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    save_checkpoint(path, {"a": torch.ones(3)}, {"step": 1})
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(GeoGAEError, match=r"cannot write .*x: No space left on device"):
        save_checkpoint(path, {"a": torch.zeros(3)}, {"step": 2})
    assert files(tmp_path) == ["x"] and path.read_bytes() == before


def test_a_disk_that_is_full_halfway_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    save_checkpoint(path, {"a": torch.ones(3)}, {"step": 1})
    before = path.read_bytes()

    class Full(FileIO):
        def write(self, data: Any) -> int:
            super().write(data[:10])
            return full_disk()

    monkeypatch.setattr(Path, "open", lambda path, mode: Full(path, mode))
    with pytest.raises(GeoGAEError, match="No space left on device"):
        save_checkpoint(path, {"a": torch.zeros(3)}, {"step": 2})
    assert files(tmp_path) == ["x"] and path.read_bytes() == before
