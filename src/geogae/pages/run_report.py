"""The report of one model: scores beside baselines and the paper, curves, size errors, a sweep over m, worst graphs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geogae import metrics
from geogae.benchmark.methods import METHODS
from geogae.benchmark.paper import paper
from geogae.benchmark.provenance import provenance
from geogae.errors import GeoGAEError
from geogae.estimator import GeoGAE
from geogae.graph import Graph
from geogae.pages.molecules import chemistry_of
from geogae.pages.report import (
    Block,
    Drawn,
    Section,
    bars,
    facts,
    grid,
    histogram,
    lines,
    pairs,
    scatter,
    tiles,
    write_report,
)

BASELINES = ("complete", "mean", "nearest")  # that are fitted and scored for the report
FITTED = 2000  # training graphs, at most, that baselines are fitted to
VALIDATED = 100  # of them, on which a baseline makes its choices
WORST, SAMPLES = 12, 24
# training graphs up to which other sizes of z are tried unasked, and these sizes in parts of m
SWEPT, SIZES = 500, (1 / 8, 1 / 4, 1 / 2, 2)
SCORES = {"f1": "F1", "f1_unweighted": "F1, unweighted", "exact": "exact", "node_f1": "node F1", "edge_f1": "edge F1",
          "whole": "whole"}  # fmt: skip


def run_report(
    model: GeoGAE,
    test: Sequence[Graph],
    path: str | os.PathLike[str] | None = None,
    *,
    train: Sequence[Graph] = (),
    history: Sequence[Mapping[str, Any]] = (),
    dataset: str = "",
    name: str = "model",
    elements: Sequence[str] | None = None,
    bonds: Sequence[int] | None = None,
    sweep: Sequence[int] | None = None,
    seed: int = 0,
) -> str:
    """How a model does on ``test`` graphs, as a page.

    ``train`` graphs are for baselines and the sweep, ``history`` for the curves; both may be missing. ``dataset`` is
    the name under which the paper has scores, if it has any. ``sweep`` are sizes of z at which the model is fitted anew
    to ``train``; without it, a model that is fitted in one step to few graphs is swept from m / 8 to 2 m.
    """
    if not test:
        raise GeoGAEError("a report needs graphs to test on; give at least one")
    found = model.reconstruct(test)
    true, back = [graph for graph, _ in found], [decoded for _, decoded in found]
    each = metrics.scores(true, back)
    scores = metrics.evaluate(true, back)
    if model.attributes == "decoded":
        scores |= metrics.attributes(true, back)
    samples, why = _samples(model, seed)
    worst = _worst(each, true)
    graphs = [graph for i in worst for graph in (true[i], back[i]) if graph is not None]
    chemistry = chemistry_of([graph for graph in true[:200] if graph is not None], elements, bonds)
    if chemistry is not None and any(graph.node_categorical is None for graph in [*graphs, *samples]):
        chemistry = None  # decoded without attributes: nothing to draw atoms from
    sampled = [(len(graphs) + k, f"{graph.n} nodes") for k, graph in enumerate(samples)]
    sections = [
        Section("Scores", [_headline(scores), *_beside(scores, train, test, dataset)]),
        Section("Training", _curves(history)),
        Section("Size", _sizes(each, true)),
        Section("Size of z", *_swept(model, scores, train, test, sweep)),
        Section("Worst graphs", [_worst_pairs(worst, true, back, each)]),
        Section("Samples", [grid("Drawn from the prior.", sampled)] if samples else [], why),
        Section("Configuration", [facts("Parameters", model.get_params()), facts("Made by", _origin())]),
    ]
    m = model.latent_dim
    subtitle = f"{model.architecture} model, z of {m} numbers · {len(test):,} test graphs" + (
        f" of {dataset}" if dataset else ""
    )
    return write_report(name, subtitle, sections, path, Drawn([*graphs, *samples], chemistry))


def _headline(scores: Mapping[str, float]) -> Block:
    named = [(SCORES[key], f"{100 * scores[key]:.2f} %", "") for key in SCORES if key in scores]
    size = f"{100 * scores['size_error_relative']:.2f} % of the mean"
    return tiles(*named, ("size error", f"{scores['size_error']:.3g} nodes", size))


def _beside(scores: Mapping[str, float], train: Sequence[Graph], test: Sequence[Graph], dataset: str) -> list[Block]:
    """F1 beside baselines that are fitted to the same graphs, and the paper's."""
    rows: list[dict[str, Any]] = [{"name": "this model", "value": 100 * scores["f1"], "kind": "ours"}]
    for name in BASELINES if train else ():
        rows.append({"name": name, "value": 100 * _baseline(name, dataset, train, test), "kind": "baseline"})
    return with_paper(rows, dataset)


def with_paper(rows: list[dict[str, Any]], dataset: str) -> list[Block]:
    """Bars of F1 and of what the paper has for the data set; none if there is only one of them."""
    printed = paper().f1.get(dataset, {})
    theirs = [
        {"name": f"{method} (paper)", "value": score.mean, "deviation": score.deviation, "kind": "paper"}
        for method, score in printed.items()
        if score.mean is not None
    ]
    found = [*rows, *theirs]
    return [bars("F1 of the ordered adjacency, weighted by nodes", found)] if len(found) > 1 else []


def _baseline(name: str, dataset: str, train: Sequence[Graph], test: Sequence[Graph]) -> float:
    method = METHODS[name].make(dataset or "own", {})
    fitted = list(train)[:FITTED]
    with TemporaryDirectory() as folder:
        method.fit(fitted, fitted[:VALIDATED], Path(folder))
    readings = method.read(list(test))
    return metrics.evaluate([reading.ordered for reading in readings], method.decode(method.encode(readings)))["f1"]


def _curves(history: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Losses and validation scores against time, where training took more than one step."""
    if len(history) < 2:
        return []
    minutes = [row["seconds"] / 60 for row in history]

    def series(names: Sequence[str], scale: float = 1.0) -> list[tuple[str, list[tuple[float, float]]]]:
        return [
            (name.removeprefix("loss_").removeprefix("validation_"),
             [(t, scale * row[name]) for t, row in zip(minutes, history, strict=True) if name in row])
            for name in names
        ]  # fmt: skip

    losses = [name for name in history[-1] if name.startswith("loss_")]
    validation = [
        name
        for name in ("validation_f1", "validation_exact", "validation_node_f1", "validation_edge_f1")
        if name in history[-1]
    ]
    blocks = []
    if losses:
        blocks.append(lines("Losses", "minutes", "loss", series(losses), log=["y"]))
    if validation:
        blocks.append(lines("Validation graphs, decoded from z", "minutes", "%", series(validation, 100)))
    if "validation_size_error" in history[-1]:
        blocks.append(lines("Size error on validation graphs", "minutes", "nodes", series(["validation_size_error"])))
    return blocks


def _sizes(each: Mapping[str, NDArray[np.float64]], true: Sequence[Graph]) -> list[Block]:
    errors = Counter(int(error) for error in each["size_error"])
    reach = min(max(max(map(abs, errors)), 3), 10)
    bins = []
    for error in range(-reach, reach + 1):
        inside = [e for e in errors if e == error or (error == -reach and e < error) or (error == reach and e > error)]
        sign = "≤ " if error == -reach else "≥ " if error == reach else ""
        bins.append((f"{sign}{error:+d}" if error else "0", sum(errors[e] for e in inside)))
    points = [(float(graph.n), 100 * float(f1), graph.name or f"{graph.n} nodes")
              for graph, f1 in zip(true, each["f1"], strict=True)]  # fmt: skip
    return [
        histogram("Nodes too many or too few", "size error, nodes", bins),
        scatter("F1 against size", "nodes", "F1, %", points[:: max(1, len(points) // 3000)]),
    ]


def _swept(
    model: GeoGAE,
    scores: Mapping[str, float],
    train: Sequence[Graph],
    test: Sequence[Graph],
    sizes: Sequence[int] | None,
) -> tuple[list[Block], str]:
    """F1 and exact graphs against m, or why they are not there."""
    own = model.latent_dim
    if sizes is None:
        if not train or len(train) > SWEPT or type(model.autoencoder_).trained:
            return [], "Scores at other sizes of z: geogae report RUN --sweep 16,32,64 fits the model anew at each."
        sizes = [int(part * own) for part in SIZES if part * own >= 4]
    if sizes and not train:
        raise GeoGAEError("a sweep needs training graphs; give train")
    found, refused = {own: scores}, []
    for m in sizes:
        if m in found:
            continue
        try:
            found[m] = GeoGAE(**{**model.get_params(), "latent_dim": m}).fit(list(train)).evaluate(list(test))
        except GeoGAEError as error:
            refused.append(f"m = {m}: {error}.")
    series = [(name, [(float(m), 100 * found[m][key]) for m in sorted(found)])
              for key, name in (("f1", "F1"), ("exact", "exact"))]  # fmt: skip
    text = f"The same parameters, fitted anew at each size m of z; this model has m = {own}."
    block = lines("Test graphs that come back, against the size m of z", "m", "%", series, log=["x"])
    return [block] if len(found) > 1 else [], " ".join([text, *refused])


def _worst(each: Mapping[str, NDArray[np.float64]], true: Sequence[Graph]) -> list[int]:
    order = sorted(range(len(true)), key=lambda i: (each["f1"][i], each["exact"][i], -true[i].n))
    return order[:WORST]


def _worst_pairs(
    worst: Sequence[int], true: Sequence[Graph], back: Sequence[Graph | None], each: Mapping[str, NDArray[np.float64]]
) -> Block:
    found, at = [], 0
    for i in worst:
        decoded = back[i] is not None
        size = f", {each['size_error'][i]:+.0f} nodes" if each["size_error"][i] else ""
        verdict = "exact" if each["exact"][i] else f"F1 {100 * each['f1'][i]:.1f} %{size}"
        found.append(
            (
                at,
                at + 1 if decoded else None,
                true[i].name or f"{true[i].n} nodes",
                verdict if decoded else "cannot be encoded",
            )
        )
        at += 1 + decoded
    caption = "Each graph beside what comes back from its z; wrong edges are red, missing ones dotted."
    return pairs(caption, found)


def _samples(model: GeoGAE, seed: int) -> tuple[list[Graph], str]:
    """Graphs from the prior, or why there are none."""
    try:
        return list(model.sample(SAMPLES, seed=seed)), ""
    except GeoGAEError as error:
        return [], str(error)


def _origin() -> dict[str, Any]:
    known = provenance()
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items() if version)
    commit = f"{known['commit'] or 'not known'}{' (modified)' if known['modified'] else ''}"
    return {"commit": commit, "versions": versions, "processor": known["machine"]["processor"], "date": known["when"]}
