"""Parquet files: a column of SMILES, or the columns ``n`` and ``edges`` with those of the attributes.

The columns are the fields of :class:`geogae.Graph`, as in JSONL; other columns are left out. A file with a column
``smiles`` (in any case) and no column ``edges`` holds molecules; ``name``, ``id`` and ``label`` are read beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Unpack

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.chem import Hydrogens, from_smiles
from geogae.formats.detect import graph_name, iter_graphs
from geogae.formats.jsonl import FIELDS, from_record, to_record
from geogae.formats.limits import check
from geogae.formats.optional import require
from geogae.formats.registry import FileFormat
from geogae.formats.simplify import Policy
from geogae.graph import ATTRIBUTES, Graph

ROWS = 256  # graphs in memory at once


def read_parquet(
    path: str | os.PathLike[str], *, smiles: str | None = None, hydrogens: Hydrogens = False, **policy: Unpack[Policy]
) -> list[Graph]:
    """The graphs of a file; see :func:`iter_parquet`."""
    return list(iter_parquet(path, smiles=smiles, hydrogens=hydrogens, **policy))


def iter_parquet(
    path: str | os.PathLike[str], *, smiles: str | None = None, hydrogens: Hydrogens = False, **policy: Unpack[Policy]
) -> Iterator[Graph]:
    """The graphs of a file, read ``ROWS`` rows at a time; ``smiles`` names the column of SMILES if it has another name.

    A row group may state at most ``GEOGAE_MAX_NUMBERS`` rows and ``GEOGAE_MAX_UNPACKED`` bytes. That is all that is
    checked before pyarrow decodes it: a file that is made to deceive can take more memory for one batch.
    """
    parquet = require("pyarrow.parquet", "parquet")
    with _damage(path), parquet.ParquetFile(Path(path), page_checksum_verification=True) as file:
        names = list(file.schema_arrow.names)
        if len(set(names)) < len(names):
            raise GeoGAEError(f"{path} has two columns of one name; rename one of them")
        column = smiles or next((n for n in names if n.lower() == "smiles" and "edges" not in names), None)
        if column is not None and column not in names:
            raise GeoGAEError(f"{path} has no column {column!r}; its columns are {', '.join(names)}")
        if column is None and not {"n", "edges"} <= set(names):
            raise GeoGAEError(f"{path} has neither a column smiles nor n and edges; its columns are {', '.join(names)}")
        wanted = [column, "name", "id", "label"] if column is not None else list(FIELDS)
        wanted = [name for name in names if name in wanted]
        for index in range(file.num_row_groups):
            group = file.metadata.row_group(index)  # its column() would abort the process if the file is damaged
            check("unpacked", group.total_byte_size, f"{path} row group {index}")
            check("numbers", group.num_rows, f"{path} row group {index}")
        row = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=wanted, use_threads=False):
            for record in batch.to_pylist():
                try:
                    yield _molecule(record, column, hydrogens) if column is not None else _graph(record, policy)
                except GeoGAEError as error:
                    raise GeoGAEError(f"{path} row {row}: {error}") from None
                row += 1


def write_parquet(graphs: Iterable[Graph], path: str | os.PathLike[str]) -> None:
    """Write graphs, ``ROWS`` at a time. The first ``ROWS`` decide which columns there are, and the type of labels."""
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    numbered = enumerate(iter_graphs(graphs))
    records: Iterator[tuple[int, Graph, dict[str, Any]]] = ((index, g, to_record(g)) for index, g in numbered)
    first = list(islice(records, ROWS))
    if not first:
        raise GeoGAEError("there are no graphs to write; give at least one")
    schema = _schema(arrow, [record for _, _, record in first])
    records = chain(first, records)
    with atomic_path(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
        while part := list(islice(records, ROWS)):
            for index, graph, record in part:
                if extra := record.keys() - set(schema.names):
                    raise GeoGAEError(
                        f"{graph_name(graph, index)} has {sorted(extra)[0]}, which none of the first {len(first):,} "
                        "graphs has; write .jsonl instead"
                    )
            try:
                writer.write_table(arrow.Table.from_pylist([record for _, _, record in part], schema=schema))
            except (arrow.ArrowException, TypeError, OverflowError) as error:
                raise GeoGAEError(
                    f"graphs {part[0][0]} to {part[-1][0]} do not fit the columns of the first {len(first):,} "
                    f"({' '.join(str(error).split())[:120]}); write .jsonl instead"
                ) from None


PARQUET = FileFormat(read=iter_parquet, write=write_parquet)


def _schema(arrow: Any, records: list[dict[str, Any]]) -> Any:
    whole, real = arrow.list_(arrow.list_(arrow.int64())), arrow.list_(arrow.list_(arrow.float32()))
    types = {"n": arrow.int64(), "edges": whole, "name": arrow.string()}
    types |= {field: whole if field.endswith("categorical") else real for field in ATTRIBUTES}
    labels = [record["label"] for record in records if "label" in record]
    if any(isinstance(label, tuple) for label in labels):
        types["label"] = arrow.list_(arrow.float64())
    else:
        types["label"] = arrow.int64() if all(isinstance(label, int) for label in labels) else arrow.float64()
    present = {field for record in records for field in record}
    return arrow.schema([(field, types[field]) for field in FIELDS if field in present])


def _graph(record: dict[str, Any], policy: Policy) -> Graph:
    return from_record({field: value for field, value in record.items() if value is not None}, policy)


def _molecule(record: dict[str, Any], column: str, hydrogens: Hydrogens) -> Graph:
    smiles, label = record[column], record.get("label")
    name = record.get("name") if record.get("name") is not None else record.get("id")
    if not isinstance(smiles, str):
        raise GeoGAEError(f"the column {column!r} holds {type(smiles).__name__}, not text; remove the row")
    return from_smiles(smiles, hydrogens=hydrogens, label=label, name=None if name is None else str(name))


@contextmanager
def _damage(path: str | os.PathLike[str]) -> Iterator[None]:
    arrow = require("pyarrow", "parquet")
    try:
        yield
    except GeoGAEError:
        raise
    except FileNotFoundError:
        raise GeoGAEError(f"{path} does not exist") from None
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise GeoGAEError(f"{path} is not a Parquet file that can be read ({reason})") from None
