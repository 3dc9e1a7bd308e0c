"""What PIGVAE and GRALE read of a graph beside its edges, and how attributes are learned and written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

from geogae.autoencoders.schema import Block, Schema
from geogae.graph import Graph


def hops(graph: Graph) -> NDArray[np.float32]:
    """Shortest-path lengths (n, n), inf where there is no path."""
    i, j = graph.edges.T
    matrix = coo_matrix((np.ones(len(i), dtype=np.float32), (i, j)), shape=(graph.n, graph.n))
    return shortest_path(matrix.tocsr(), directed=False, unweighted=True).astype(np.float32)


def node_features(graph: Graph, schema: Schema | None) -> NDArray[np.float32]:
    """One-hot categories and standardised numbers (n, w); a constant 1 without a schema."""
    if schema is None or not schema.node.width:
        return np.ones((graph.n, 1), dtype=np.float32)
    return schema.node.features(schema.node.columns(graph))


def edge_features(graph: Graph, schema: Schema | None) -> NDArray[np.float32]:
    """The same of the edges, as a matrix (n, n, w) that is 0 where there is none; w = 0 without a schema."""
    width = 0 if schema is None else schema.edge.width
    matrix = np.zeros((graph.n, graph.n, width), dtype=np.float32)
    if schema is not None and width:
        i, j = graph.edges.T
        matrix[i, j] = matrix[j, i] = schema.edge.features(schema.edge.columns(graph))
    return matrix


def categories(block: Block | None) -> list[int]:
    """Widths of the categorical columns."""
    return [] if block is None else [len(known) for known in block.categories]


def feature_loss(predicted: Tensor, truth: Tensor, widths: Sequence[int]) -> Tensor:
    """Cross-entropy of the categorical columns and squared error of the others, averaged over columns, (…,)."""
    *logits, numbers = predicted.split([*widths, predicted.shape[-1] - sum(widths)], -1)
    *hot, values = truth.split([*widths, truth.shape[-1] - sum(widths)], -1)
    loss = (numbers - values).square().sum(-1)
    for column, category in zip(logits, hot, strict=True):
        loss = loss - (category * column.log_softmax(-1)).sum(-1)
    return loss / max(1, len(widths) + numbers.shape[-1])


def padded(matrices: Sequence[NDArray[np.float32]], n: int, axes: int, fill: float = 0.0) -> Tensor:
    """Arrays whose first ``axes`` axes have one entry for each node, as one tensor of n nodes: (count, n, …)."""
    whole = np.full((len(matrices), *[n] * axes, *matrices[0].shape[axes:]), fill, dtype=np.float32)
    for row, matrix in zip(whole, matrices, strict=True):
        row[tuple(slice(len(matrix)) for _ in range(axes))] = matrix
    return torch.from_numpy(whole)


def with_attributes(
    graph: Graph, schema: Schema | None, nodes: NDArray[np.float32], edges: NDArray[np.float32]
) -> Graph:
    """A graph with the attributes that its features (n, w) and (n, n, w) stand for."""
    if schema is None:
        return graph
    i, j = graph.edges.T
    node = schema.node.read(nodes[:, : schema.node.width])
    return schema.with_attributes(graph, node, schema.edge.read(edges[i, j]))
