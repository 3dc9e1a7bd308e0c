"""Scores of a fitted method on graphs: from z alone, and with each kind of side information that it knows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from geogae import metrics
from geogae.benchmark.baselines.trained import TrainedAutoencoder
from geogae.graph import Graph


def f1_of_averages(true: Sequence[Graph], decoded: Sequence[Graph | None]) -> float:
    """The other reading of "vertex-weighted F1": of weighted precision and weighted recall, what is undefined being 0.

    :func:`geogae.metrics.evaluate` has the first reading, the weighted average of each graph's F1.
    """
    precision, recall = np.zeros(len(true)), np.zeros(len(true))
    for row, (wanted, found) in enumerate(zip(true, decoded, strict=True)):
        if found is None:
            continue
        width = max(wanted.n, found.n)
        hits = len(np.intersect1d(wanted.edges @ (width, 1), found.edges @ (width, 1), assume_unique=True))
        precision[row] = hits / max(1, len(found.edges))
        recall[row] = hits / max(1, len(wanted.edges))
    nodes = [graph.n for graph in true]
    p, r = np.average(precision, weights=nodes), np.average(recall, weights=nodes)
    return float(2 * p * r / (p + r)) if p + r else 0.0


def score(model: TrainedAutoencoder[Any], graphs: Sequence[Graph], seed: int = 0) -> dict[str, Any]:
    """Scores by side information (``"none"`` first), seconds, and the number of graphs that cannot be encoded.

    Every graph is numbered at random first: what a method gains from the numbering of a file is not its own.
    """
    random = np.random.default_rng(seed)
    graphs = [graph.relabel(random.permutation(graph.n)) for graph in graphs]
    if model.schema is None:
        graphs = [graph.topology() for graph in graphs]
    carried = [row for row, graph in enumerate(graphs) if model.why_not(graph) is None]
    begin = time.process_time()
    readings = model.read([graphs[row] for row in carried])
    z = model.encode(readings)
    seconds = {"encode": round(time.process_time() - begin, 3)}
    true = list(graphs)
    for row, reading in zip(carried, readings, strict=True):
        true[row] = reading.ordered
    scores = {}
    for given in ("none", *model.side_information):
        begin = time.process_time()
        decodings = model.decode(z) if given == "none" else model.decode_with(z, readings, given)
        seconds[f"decode, {given}"] = round(time.process_time() - begin, 3)
        decoded: list[Graph | None] = [None] * len(true)
        for row, decoding in zip(carried, decodings, strict=True):
            decoded[row] = decoding.graph
        scores[given] = {**metrics.evaluate(true, decoded), "f1_of_averages": f1_of_averages(true, decoded)}
        if model.schema is not None:
            scores[given] |= metrics.attributes(true, decoded)
    return {"scores": scores, "seconds": seconds, "left_out": len(graphs) - len(carried)}
