"""Clouds as files: ``.npz`` (small and fast) or ``.jsonl`` (one cloud a line, for graphs that differ in attributes).

An ``.npz`` file of clouds is a file of packed graphs with the balls added, so :func:`geogae.formats.read` reads its
graphs.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.jsonl import from_record, parsed, to_record
from geogae.formats.packed import Packed, read_arrays
from geogae.formats.text import numbered_lines
from geogae.geometry.cloud import HyperballCloud
from geogae.graph import Graph

FORMAT = "geogae clouds 1"
SUFFIXES = (".npz", ".jsonl")
_BALLS = ("centers", "radii_raw", "order")  # one row for each node
_FIT = ("steps", "tries", "canonical")  # one value for each cloud


def save_clouds(clouds: Sequence[HyperballCloud], path: str | os.PathLike[str]) -> None:
    """Write clouds and the graphs they were fitted to, whole or not at all; the suffix decides the format."""
    target = Path(path)
    write = _write_jsonl if _suffix(target) == ".jsonl" else _write_npz
    if not clouds:
        raise GeoGAEError(f"there are no clouds to write to {target}; give at least one")
    with atomic_path(target) as temporary:
        write(clouds, temporary)


def load_clouds(path: str | os.PathLike[str]) -> list[HyperballCloud]:
    """The clouds of a file that :func:`save_clouds` wrote, bit for bit."""
    source = Path(path)
    return _read_jsonl(source) if _suffix(source) == ".jsonl" else _read_npz(source)


def _suffix(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise GeoGAEError(f"{path} has no suffix that is known; clouds are kept in {' or '.join(SUFFIXES)} files")
    return path.suffix.lower()


def _write_npz(clouds: Sequence[HyperballCloud], path: Path) -> None:
    if len(dims := sorted({cloud.dim for cloud in clouds})) > 1:
        raise GeoGAEError(f"clouds of dims {dims} do not fit one .npz file; write .jsonl instead")
    arrays = {
        "clouds": np.array(FORMAT),
        **{field: np.concatenate([getattr(cloud, field) for cloud in clouds]) for field in _BALLS},
        **{field: np.array([getattr(cloud, field) for cloud in clouds]) for field in _FIT},
        "fitted": np.array([cloud.graph is not None for cloud in clouds]),
    }
    Packed.of(cloud.graph or cloud.to_graph() for cloud in clouds).save(path, compress=True)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for field, array in arrays.items():
            with archive.open(f"{field}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_npz(path: Path) -> list[HyperballCloud]:
    packed = Packed.load(path)
    try:
        stored = read_arrays(path, ("clouds", *_BALLS, *_FIT, "fitted"))
    except GeoGAEError as error:
        raise GeoGAEError(
            f"{path} is not a file of clouds: it is foreign or damaged ({error}); fit and save it again"
        ) from None
    try:
        if "clouds" not in stored:
            raise GeoGAEError("it holds graphs without clouds")
        if str(stored["clouds"]) != FORMAT:
            raise GeoGAEError(f"it holds {str(stored['clouds'])!r}, not {FORMAT!r}")
        balls = [np.split(stored[field], np.cumsum(packed.sizes)[:-1]) for field in _BALLS]
        fits = [stored[field].tolist() for field in _FIT]
        graphs = [g if known else None for g, known in zip(packed.graphs(), stored["fitted"], strict=True)]
        return [_cloud(*fields) for fields in zip(graphs, *balls, *fits, strict=True)]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        reason = str(error) if isinstance(error, GeoGAEError) else "it is foreign or damaged"
        raise GeoGAEError(f"{path} is not a file of clouds: {reason}; fit and save it again") from None


def _write_jsonl(clouds: Sequence[HyperballCloud], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for cloud in clouds:
            graph = None if cloud.graph is None else to_record(cloud.graph)
            balls = {field: getattr(cloud, field).tolist() for field in _BALLS}
            record = {"graph": graph, **balls, **{field: getattr(cloud, field) for field in _FIT}}
            file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")


def _read_jsonl(path: Path) -> list[HyperballCloud]:
    clouds = []
    for where, line in numbered_lines(path):
        try:
            record = parsed(line)
            graph = None if record["graph"] is None else from_record(record["graph"], {})
            clouds.append(_cloud(graph, *(record[field] for field in (*_BALLS, *_FIT))))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            raise GeoGAEError(f"{where} is not a cloud: {reason}; fit and save it again") from None
    return clouds


def _cloud(
    graph: Graph | None, centers: Any, radii_raw: Any, order: Any, steps: int, tries: int, canonical: bool
) -> HyperballCloud:
    """The cloud of stored values, once they are known to be one."""
    cloud = HyperballCloud(
        centers=np.array(centers, dtype=np.float32),
        radii_raw=np.array(radii_raw, dtype=np.float32),
        order=np.array(order, dtype=np.int64),
        graph=graph,
        steps=int(steps),
        tries=int(tries),
        canonical=bool(canonical),
    )
    if graph is not None and cloud.n != graph.n:
        raise GeoGAEError(f"it has {cloud.n} balls for a graph of {graph.n} nodes")
    if not (np.isfinite(cloud.centers).all() and np.isfinite(cloud.radii_raw).all()):
        raise GeoGAEError("a centre or radius is not finite")
    if not np.array_equal(np.sort(cloud.order), np.arange(cloud.n)):
        raise GeoGAEError(f"its order does not hold each of 0 … {cloud.n - 1} once")
    return cloud
