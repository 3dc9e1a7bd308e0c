"""The text format of the TU collection: a folder or a zip with DS_A.txt, DS_graph_indicator.txt and others.

A file holds one line for each graph, node or arc, and an edge is listed as two arcs. Nodes and graphs are
numbered from 1 through the whole set. Labels are integers (categorical), attributes are real numbers
(continuous). A graph's label comes from DS_graph_labels.txt or, if that is missing, DS_graph_attributes.txt.

Some sets of the collection list arcs more than once (IMDB-BINARY) or hold self-loops (COLLAB). So in this format, other
than in the rest of :mod:`geogae.formats`, repeated arcs are merged and self-loops dropped by default. The log says how
many.
"""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats import archive, table
from geogae.formats.limits import check, limit
from geogae.formats.packed import Packed
from geogae.formats.registry import FileFormat
from geogae.formats.simplify import Origin, Policy, simplify
from geogae.graph import Graph

log = logging.getLogger("geogae")

POLICY: Policy = {"self_loops": "drop", "duplicates": "merge"}  # the default for this format

# The file that holds each block, what its lines stand for, and what its numbers are.
_BLOCKS: dict[str, tuple[str, str, Any]] = {
    "node_categorical": ("node_labels", "nodes", np.int64),
    "node_continuous": ("node_attributes", "nodes", np.float32),
    "edge_categorical": ("edge_labels", "arcs", np.int64),
    "edge_continuous": ("edge_attributes", "arcs", np.float32),
}


def read_tu(path: str | os.PathLike[str], **policy: Unpack[Policy]) -> list[Graph]:
    """The graphs of a folder or zip, named DS/0, DS/1, …; for the policy see :mod:`geogae.formats.simplify`.

    Repeated arcs are merged and self-loops dropped, with one line in the log, unless the policy says otherwise.
    """
    packed = read_tu_packed(path, **policy)
    if packed.report:
        log.warning("%s: %s", path, packed.report)
    return packed.graphs()


def read_tu_packed(path: str | os.PathLike[str], **policy: Unpack[Policy]) -> Packed:
    """As :func:`read_tu`, in flat arrays; all graphs are simplified at once, as their disjoint union."""
    policy = {**POLICY, **policy}
    files = _Files.find(Path(path))

    indicator = files.table("graph_indicator", np.int64, columns=1)[:, 0]
    sizes = _sizes(indicator, files.source("graph_indicator"))
    check("graphs", len(sizes), str(path))
    check("nodes", int(sizes.max()), str(path))
    offsets = np.cumsum(sizes) - sizes

    arcs = files.table("A", np.int64, columns=2)
    _check_arcs(arcs, indicator, files.source("A"))
    counts = {"nodes": len(indicator), "arcs": len(arcs), "graphs": len(sizes)}
    blocks = {field: files.block(*how, counts) for field, how in _BLOCKS.items()}

    source = files.source("A")
    origin = Origin(row=lambda row: f"{source} line {row + 1}: ", node=lambda node: node + 1)
    edge_blocks = {field: block for field, block in blocks.items() if field.startswith("edge")}
    simple = simplify(len(indicator), arcs - 1, arcs=True, attributes=edge_blocks, origin=origin, **policy)
    graph_of_edge = indicator[simple.edges[:, 0]] - 1

    labels = files.block("graph_labels", "graphs", np.int64, counts)
    if labels is None:
        labels = files.block("graph_attributes", "graphs", np.float64, counts)
    return Packed(
        sizes=sizes,
        edge_counts=np.bincount(graph_of_edge, minlength=len(sizes)),
        edges=simple.edges - offsets[graph_of_edge, None],
        node_categorical=blocks["node_categorical"],
        node_continuous=blocks["node_continuous"],
        edge_categorical=simple.attributes["edge_categorical"],
        edge_continuous=simple.attributes["edge_continuous"],
        labels=labels[:, 0] if labels is not None and labels.shape[1] == 1 else labels,
        names=np.array([f"{files.name}/{index}" for index in range(len(sizes))]),
        report=simple.report,
    )


def write_tu(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs to a new folder, or to a zip if ``path`` ends in ``.zip``; the set is named after it.

    Attributes and labels must belong to all graphs, with the same columns, or to none. Names are not kept.
    """
    target = Path(path)
    packed = Packed.of(graphs)
    with atomic_path(target) as temporary:
        if target.suffix.lower() == ".zip":
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
                for stem, text in _texts(packed):
                    with file.open(f"{target.stem}/{target.stem}_{stem}.txt", "w", force_zip64=True) as member:
                        member.writelines(piece.encode() for piece in text)
        else:
            temporary.mkdir()
            for stem, text in _texts(packed):
                with (temporary / f"{target.name}_{stem}.txt").open("w", newline="\n") as file:
                    file.writelines(text)


TU = FileFormat(read=read_tu, write=write_tu, policy=True)


@dataclass(frozen=True)
class _Files:
    """The text files of one set, in a folder or a zip."""

    path: Path
    name: str  # DS
    members: frozenset[str]  # names of the files that are there

    @classmethod
    def find(cls, path: Path) -> _Files:
        if path.is_dir():
            members = frozenset(file.name for file in path.iterdir() if _is_data(file.name))
        else:
            with archive.opened(path, "a folder or a zip in TU format") as file:
                members = frozenset(archive.members(file, _is_data))
        names = [file.removesuffix("_A.txt") for file in members if file.endswith("_A.txt")]
        if len(names) != 1:
            raise GeoGAEError(
                f"{path} must hold exactly one file named NAME_A.txt to be in TU format, not {len(names)}"
            )
        return cls(path, names[0], members)

    def source(self, stem: str) -> str:
        return f"{self.path}/{self.name}_{stem}.txt"

    def text(self, stem: str) -> bytes | None:
        """The content of a file, None if it is not there; its size is checked before it is in memory."""
        name = f"{self.name}_{stem}.txt"
        if name not in self.members:
            return None
        if self.path.is_dir():
            return self._from_folder(name)
        with archive.opened(self.path, "a zip in TU format") as file:
            member = archive.members(file, name.__eq__)[name]
            with file.open(member) as content:
                return _content(content, self.source(stem))

    def _from_folder(self, name: str) -> bytes:
        place = self.path / name
        try:
            target = place.resolve(strict=True)
            if not target.is_relative_to(self.path.resolve()):
                raise GeoGAEError(f"{place} is a link to a place outside of its folder; copy the file into the folder")
            if not target.is_file():
                raise GeoGAEError(f"{place} is not a file")
            check("unpacked", target.stat().st_size, str(place))
            with target.open("rb") as file:
                return _content(file, str(place))
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            raise GeoGAEError(f"{place} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def table(self, stem: str, kind: Any, columns: int) -> NDArray[Any]:
        text = self.text(stem)
        if text is None:
            raise GeoGAEError(f"{self.source(stem)} is missing; a set in TU format needs it")
        return table.parse(text, kind, self.source(stem), columns)

    def block(self, stem: str, things: str, kind: Any, counts: dict[str, int]) -> NDArray[Any] | None:
        """The table of an optional file, which has one line for each node, arc or graph."""
        text = self.text(stem)
        if text is None:
            return None
        block = table.parse(text, kind, self.source(stem))
        if len(block) != counts[things]:
            raise GeoGAEError(
                f"{self.source(stem)} has {len(block)} lines; it needs one for each of the {counts[things]} {things}"
            )
        return block


def _is_data(name: str) -> bool:
    """Whether a file can belong to the set; macOS adds hidden files to zips."""
    return name.endswith(".txt") and not name.startswith(".")


def _content(file: IO[bytes], source: str) -> bytes:
    """The whole text, as long as it holds no more numbers than the limit."""
    most, numbers, pieces = limit("numbers"), 0, []
    for piece in archive.chunks(file):
        numbers += piece.count(b"\n") + piece.count(b",")
        if numbers > most:
            check("numbers", numbers, source, more=True)
        pieces.append(piece)
    return b"".join(pieces)


def _sizes(indicator: NDArray[np.int64], source: str) -> NDArray[np.int64]:
    """How many nodes each graph has: graph ids must be 1, 2, … in order."""
    if not len(indicator):
        raise GeoGAEError(f"{source} is empty; a set needs at least one graph")
    steps = np.diff(indicator, prepend=0)
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = steps[0] != 1
    if wrong.any():
        line = int(np.argmax(wrong))
        before = int(indicator[line - 1]) if line else 0
        raise GeoGAEError(
            f"{source} line {line + 1}: graph {indicator[line]} after graph {before}; "
            "graphs must be numbered 1, 2, … in order, each with at least one node"
        )
    return np.bincount(indicator - 1)


def _check_arcs(arcs: NDArray[np.int64], indicator: NDArray[np.int64], source: str) -> None:
    nodes = len(indicator)
    if arcs.size and (arcs.min() < 1 or arcs.max() > nodes):
        line = int(np.argmax(((arcs < 1) | (arcs > nodes)).any(axis=1)))
        i, j = arcs[line]
        raise GeoGAEError(f"{source} line {line + 1}: arc ({i}, {j}) is out of range; the nodes are 1 … {nodes}")
    across = indicator[arcs[:, 0] - 1] != indicator[arcs[:, 1] - 1]
    if across.any():
        line = int(np.argmax(across))
        i, j = arcs[line]
        raise GeoGAEError(
            f"{source} line {line + 1}: arc ({i}, {j}) joins graph {indicator[i - 1]} to graph {indicator[j - 1]}; "
            "an arc must stay in its graph"
        )


def _texts(packed: Packed) -> Iterator[tuple[str, Iterator[str]]]:
    """Each file's stem and text."""
    offsets = np.repeat(np.cumsum(packed.sizes) - packed.sizes, packed.edge_counts)
    edges = packed.edges + offsets[:, None] + 1
    arcs = np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)  # each edge, then its reverse
    yield "A", table.lines(arcs, "%d")
    yield "graph_indicator", table.lines(np.repeat(np.arange(len(packed)), packed.sizes)[:, None] + 1, "%d")
    for field, (stem, things, kind) in _BLOCKS.items():
        block = getattr(packed, field)
        if block is not None:
            block = np.repeat(block, 2, axis=0) if things == "arcs" else block
            yield stem, table.lines(block, "%d" if kind is np.int64 else "%.9g")  # nine digits give float32 back
    if packed.labels is not None:
        labels = packed.labels.reshape(len(packed), -1)
        integers = labels.dtype.kind == "i"
        yield "graph_labels" if integers else "graph_attributes", table.lines(labels, "%d" if integers else "%r")
