"""Attributed graphs that are made up, small models of each architecture, and what tests ask of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from geogae import GeoGAE, Graph
from geogae.autoencoders.schema import Schema
from geogae.graph import ATTRIBUTES

# -- graphs that are made up ---

KINDS: dict[str, dict[str, Any]] = {
    "all": {"nodes": (3, 2), "node_numbers": 2, "edges": (2, 3), "edge_numbers": 1},
    "categories": {"nodes": (3, 2), "edges": (4,)},
    "numbers": {"node_numbers": 2, "edge_numbers": 2},
    "nodes": {"nodes": (4, 3), "node_numbers": 1},
    "edges": {"edges": (3, 2), "edge_numbers": 1},
}
WIDTHS = ("nodes", "node_numbers", "edges", "edge_numbers")


def dressed(n: int, pairs: Any, seed: int, *, nodes: Any = (), node_numbers: int = 0, edges: Any = (),
            edge_numbers: int = 0, name: str | None = None) -> Graph:  # fmt: skip
    """Categories such as -1, 2, 5, that are no codes; numbers about 2, with a deviation of 3."""
    random = np.random.default_rng(seed)
    pairs = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)

    def categories(rows: int, counts: tuple[int, ...]) -> Any:
        return np.column_stack([3 * random.integers(0, c, rows) - 1 for c in counts]) if counts else None

    def numbers(rows: int, columns: int) -> Any:
        return random.normal(2, 3, (rows, columns)) if columns else None

    return Graph(
        n,
        pairs,
        node_categorical=categories(n, nodes),
        node_continuous=numbers(n, node_numbers),
        edge_categorical=categories(len(pairs), edges),
        edge_continuous=numbers(len(pairs), edge_numbers),
        name=name,
    )


def made(seed: int, kind: str = "all") -> Graph:
    """A tree of 4 to 8 nodes with up to two more edges."""
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 9))
    pairs = {(int(random.integers(j)), j) for j in range(1, n)}
    pairs |= {tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(2)}
    return dressed(n, sorted(pairs), seed, **KINDS[kind], name=f"made/{seed}")


def several(kind: str = "all", count: int = 6) -> list[Graph]:
    return [made(seed, kind) for seed in range(count)]


def changed(graph: Graph, **fields: Any) -> Graph:
    return Graph(graph.n, graph.edges, **{f: getattr(graph, f) for f in (*ATTRIBUTES, "name")} | fields)


def shuffled(graphs: list[Graph], seed: int = 0) -> list[Graph]:
    random = np.random.default_rng(seed)
    return [graph.relabel(random.permutation(graph.n)) for graph in graphs]


# -- models that are small ---

REFINED: dict[str, Any] = {"architecture": "refined", "dim": 4, "latent_dim": 32, "leaves": "kept", "twins": "kept"}
LINEAR: dict[str, Any] = {"architecture": "linear", "dim": 4, "latent_dim": 32}
TINY: dict[str, Any] = {
    "architecture": "sequential", "dim": 4, "token_dim": 16, "latent_dim": 32, "encoder_hidden": 32,
    "encoder_layers": 2, "encoder_heads": 2, "decoder_hidden": 32, "decoder_layers": 1, "passes": 2,
    "batch_size": 4, "epochs": 8, "validations": 2, "lr": 5e-3,
}  # fmt: skip
OVERFITTED: dict[str, Any] = {
    **TINY, "token_dim": 64, "latent_dim": 128, "encoder_hidden": 128, "decoder_hidden": 128,
    "decoder_layers": 2, "decoder_heads": 2, "batch_size": 6, "epochs": 400, "validations": 1, "lr": 3e-3,
    "rho": 2.0,
}  # fmt: skip
MODELS = {"refined": REFINED, "linear": LINEAR, "sequential": TINY}
SLOTS = ("refined", "linear")


def fitted(name: str, graphs: list[Graph], **changes: Any) -> GeoGAE:
    """With changes, of which those of training are for the model that is trained."""
    if name != "sequential":
        changes = {key: value for key, value in changes.items() if key not in ("epochs", "validations")}
    return GeoGAE(**{**MODELS[name], "attributes": "decoded", **changes}).fit(graphs, validation=graphs)


def ordered(model: GeoGAE, graphs: list[Graph]) -> list[Graph]:
    return [reading.ordered for reading in model.autoencoder_.read(graphs)]


def schema_of(model: GeoGAE) -> Schema | None:
    return model.autoencoder_.schema


def known(model: GeoGAE, graphs: list[Graph]) -> list[Graph]:
    """Those of which the model has seen all categories, and has places for all edges."""
    return [graph for graph in graphs if model.autoencoder_.lossy(*model.autoencoder_.read([graph])) is None]


def scores_of(kind: str) -> set[str]:
    names = ("node_f1", "node_rmse", "edge_f1", "edge_rmse")
    return {score for score, width in zip(names, WIDTHS, strict=True) if KINDS[kind].get(width)} | {"whole"}


def columns(graph: Graph) -> list[int]:
    blocks = [getattr(graph, field) for field in ATTRIBUTES]
    return [0 if block is None else block.shape[1] for block in blocks]
