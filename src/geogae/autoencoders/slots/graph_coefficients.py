"""Graph coefficients: a column that runs smoothly through the graph, such as positions, as a few numbers of the whole.

The column is a combination of distances from landmark nodes. Encoder and decoder have the same functions, because these
depend on the ordered graph alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from geogae.graph import Graph

LANDMARKS = 8  # nodes, the distances from which are combined
FUNCTIONS = LANDMARKS + 1  # with the constant
RIDGE = 1e-3  # keeps coefficients small where a few nodes do not determine them
KNOWN, SMOOTH = 0.01, 0.1  # shares of a column's variance that may be left, to need nothing, or coefficients alone


def functions(graph: Graph) -> NDArray[np.float64]:
    """1 and the distances in steps from LANDMARKS nodes, each far from those before it, (n, FUNCTIONS).

    They are whole numbers, so they are the same on any machine.
    """
    steps = shortest_path(csr_array(graph.adjacency()), unweighted=True)
    steps[np.isinf(steps)] = graph.n
    from_all, columns = steps[0], [np.ones(graph.n)]
    for _ in range(LANDMARKS):
        landmark = int(from_all.argmax())
        columns.append(steps[landmark])
        from_all = np.minimum(from_all, steps[landmark])
    return np.column_stack(columns)


def coefficients(graph: Graph, numbers: NDArray[np.floating]) -> NDArray[np.floating]:
    """Of :func:`functions` that add up to numbers (n, columns), by ridge regression, (FUNCTIONS, columns)."""
    if not numbers.shape[1]:
        return np.zeros((FUNCTIONS, 0))
    known = functions(graph)
    return np.linalg.solve(known.T @ known + RIDGE * np.eye(FUNCTIONS), known.T @ numbers)


def smooth_and_rough(graphs: Sequence[Graph], left: Sequence[NDArray[np.floating]]) -> tuple[list[int], list[int]]:
    """Which columns to write as coefficients, and which into the slots, by what their averages leave of them."""
    variance = np.mean(np.concatenate(left) ** 2, axis=0)  # in units of the whole column's
    large = [at for at, graph in enumerate(graphs) if graph.n > 2 * FUNCTIONS]  # few nodes fit any functions
    residuals = [left[at] - functions(graphs[at]) @ coefficients(graphs[at], left[at]) for at in large]
    residual = np.mean(np.concatenate(residuals) ** 2, axis=0) if residuals else variance
    needed = [column for column in range(len(variance)) if variance[column] > KNOWN]
    smooth = [column for column in needed if residuals and residual[column] < SMOOTH]
    return smooth, [column for column in needed if column not in smooth]
