"""Mutated files of every format: graphs or one line of error, never anything else. The seeds are fixed."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest

from geogae.errors import GeoGAEError
from geogae.formats import iter_vectors, read, read_vectors, write
from geogae.graph import Graph

RICH = [
    Graph(
        3,
        [(0, 1), (1, 2)],
        node_categorical=[[6, 0], [7, 1], [8, -1]],
        node_continuous=[0.5, 1, 2],
        edge_categorical=[1, 2],
        edge_continuous=[[1, 2], [3, 4]],
        label=label,
        name=f"g{label}",
    )
    for label in range(3)
]
PLAIN = [Graph(3, [(0, 1), (1, 2)]), Graph(1), Graph(70, [(i, i + 1) for i in range(69)])]
TOKENS = [
    b"0", b"-1", b"99999999999999999999", b"1e400", b"NaN", b"null", b'"x"', b"[", b"]", b"{", b"}", b",", b"\n", b"\r",
    b"\x00", b"\xff", b"\xef\xbb\xbf", b":", b"~~", b"\\ud800", b"4294967296", b"(", b")", b"%", b"[CH999]", b"[[]]",
    b"\xff\xff\xff\x7f",
]  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One to five changes: a flipped bit, another byte, a token, a cut, a repeated or a lost part."""
    text = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        start = rng.randrange(len(text) + 1)
        stop = min(len(text), start + rng.randrange(1, 12))
        kind = rng.randrange(6)
        if kind == 0 and start < len(text):
            text[start] ^= 1 << rng.randrange(8)
        elif kind == 1 and start < len(text):
            text[start] = rng.randrange(256)
        elif kind == 2:
            text[start:start] = rng.choice(TOKENS)
        elif kind == 3:
            text[start:stop] = rng.choice(TOKENS)
        elif kind == 4:
            text[start:start] = text[start:stop]
        else:
            del text[start : stop if rng.random() < 0.8 else None]
    return bytes(text)


@pytest.mark.parametrize("suffix", [".jsonl", ".g6", ".s6", ".smi", ".npz", ".zip", ".parquet", ".npy", ".json"])
def test_mutated_files(suffix: str, tmp_path: Path) -> None:
    if suffix == ".smi":
        pytest.importorskip("rdkit.Chem", reason="rdkit is not installed")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    file = tmp_path / f"a{suffix}"
    if suffix == ".smi":
        file.write_text("CCO ethanol\nc1ccccc1\nCC(=O)[O-]\n[NH3+]CC([O-])=O\n")
    elif suffix == ".npy":
        np.save(file, np.arange(12, dtype=np.float32).reshape(4, 3))
    elif suffix == ".json":
        file.write_text("[[1.0, 2], [3, 4e-3]]")
    else:
        write(PLAIN if suffix in (".g6", ".s6") else RICH, file)
    whole = file.read_bytes()
    rng = random.Random(suffix)
    for _ in range(150):
        content = mutated(whole, rng)
        file.write_bytes(content)
        try:
            if suffix in (".npy", ".json"):
                read_vectors(file)
                list(iter_vectors(file, 2))
                continue
            back = read(file, simplify=rng.random() < 0.3)
            assert suffix != ".npz" or back == RICH
            if suffix in (".jsonl", ".g6", ".smi"):
                assert read(io.BytesIO(content), format=suffix, simplify=True)[: len(back)] is not None
            write(back, tmp_path / "back.jsonl")
            assert read(tmp_path / "back.jsonl") == back
        except GeoGAEError as error:
            assert "\n" not in str(error)
