"""Draws from the prior against the graphs that training did not see: molecules by validity and FCD, graphs by MMD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from geogae.autoencoders.structure import packed_chunks, triangles
from geogae.benchmark.tasks import molecules as qm9
from geogae.benchmark.tasks.simple_vectors import morgan
from geogae.datasets.splits import split
from geogae.estimator import GeoGAE
from geogae.formats import to_smiles_list
from geogae.formats.optional import require
from geogae.graph import Graph
from geogae.latent.flow import FlowPrior
from geogae.latent.interpolation import paths
from geogae.latent.rules import Rules, counted, is_connected

PAIRS, STEPS = 200, 9
CORE_MINUTES = 1.0  # of a prior of a few hundred graphs
BINS = 32
CHOOSING, NOISE = 2000, 0.2  # draws that settings are chosen by, and noise in units of the prior's numbers
MEETING = (0.0, 0.2, 0.4, 0.6, 0.8)  # times at which the ends of paths are joined


def molecules(model: GeoGAE, seed: int, count: int) -> Iterator[dict[str, Any]]:
    """QM9: draws and paths between test molecules, by the plain decoder and by the one that keeps rules."""
    graphs, smiles = qm9.qm9()
    train, _, test = qm9.parts(len(graphs))
    known = {smiles[i] for i in train}
    frechet = require("fcd_torch", "fcd").FCD(device="cpu", n_jobs=1)
    reference = frechet.precalc([smiles[i] for i in test[:count]])
    about = {"task": "sample", "dataset": "QM9", "seed": seed, "draws": count}

    def scores(found: Sequence[str | None]) -> dict[str, Any]:
        return {**draw_scores(found, known), "fcd": round(float(frechet(pref=reference, gen=_valid(found))), 3)}

    resampled = np.random.default_rng(seed).choice(train, count)
    yield {**about, "what": "training molecules", **scores([smiles[i] for i in resampled])}
    z = model._prior().sample(count, seed)
    chosen = [graphs[i] for i in np.random.default_rng(seed).choice(test, (PAIRS, 2)).ravel()]
    ways = _paths(model, chosen)
    for keep_rules, what in ((False, "plain decoder"), (True, "decoder that keeps rules")):
        decode = model._decoder(keep_rules)
        drawn = decode(z)
        yield {**about, "what": what, **scores(to_smiles_list(drawn)),
               "broken": counted([model._broken(graph) for graph in drawn]),
               "descriptor_r2": _descriptor_agreement(model, z, drawn)}  # fmt: skip
        yield {**about, "what": f"paths, {what}", **_path_scores(to_smiles_list(decode(ways)))}
    prior = model._prior()
    if isinstance(prior, FlowPrior):
        drawn = model._decoder(False)(prior.sample(count, seed, restarts=()))
        yield {**about, "what": "plain decoder, without restarts", **scores(to_smiles_list(drawn))}


def choose(
    model: GeoGAE,
    train: Sequence[Graph],
    held_out: Sequence[Graph],
    known: Set[str],
    core_minutes: float,
) -> dict[str, Any]:
    """Draws by the plain decoder and by the one that keeps rules, paths between held-out graphs, and z with noise."""
    autoencoder = model.autoencoder_
    z = model.encode(train).astype(np.float64)
    prior = FlowPrior().fit(z, core_minutes=core_minutes, basis=autoencoder.basis())
    model.prior_, model.rules_ = prior, Rules.of(train)
    drawn, ends = prior.sample(CHOOSING), model.encode(held_out)
    noisy = prior.blurred(z[:CHOOSING], NOISE)
    raw = prior.from_normal(np.random.default_rng(0).standard_normal((CHOOSING, prior.m)))  # the same draws
    result: dict[str, Any] = {"steps": prior.history[-1]["step"], "loss": prior.history[-1]["loss"]}
    result["not_denoised"] = draw_scores(to_smiles_list(model._decoder(False)(raw)), known)
    result["length"] = float(np.linalg.norm(prior.to_normal(ends), axis=1).mean() / np.sqrt(prior.m))  # 1 if normal
    for keep_rules, what in ((False, "plain"), (True, "rules")):
        decode = model._decoder(keep_rules)
        graphs = decode(drawn)
        result[what] = {**draw_scores(to_smiles_list(graphs), known),
                        "descriptor_r2": _descriptor_agreement(model, drawn, graphs)}  # fmt: skip
    at = np.linspace(0, 1, STEPS).tolist()
    for meet in MEETING:
        points = prior.between(ends[::2], ends[1::2], at, meet).reshape(-1, prior.m)
        ways = to_smiles_list(model._decoder(False)(points))
        result.setdefault("paths", []).append({"meet": meet, **_path_scores(ways)})
    result["noisy_valid"] = draw_scores(to_smiles_list(model._decoder(False)(noisy)), known)["valid_connected"]
    return result


def draw_scores(found: Sequence[str | None], known: Set[str]) -> dict[str, float]:
    """Of drawn SMILES: shares that are molecules, in one piece, different from each other, and not ``known``."""
    valid = _valid(found)
    return {
        "valid": round(float(np.mean([one is not None for one in found])), 4),
        "valid_connected": round(len(valid) / len(found), 4),
        "unique": round(len(set(valid)) / max(1, len(valid)), 4),
        "new": round(float(np.mean([one not in known for one in set(valid)])), 4) if valid else 0.0,
    }


def _valid(found: Sequence[str | None]) -> list[str]:
    return [one for one in found if one is not None and "." not in one]


def _descriptor_agreement(model: GeoGAE, z: NDArray[np.float32], graphs: Sequence[Graph]) -> float | None:
    """R² between the descriptors in drawn z and those of the graphs that they decode to."""
    if model.autoencoder_.descriptor is None:
        return None
    found = model.describe(graphs)
    left = ((z[:, : found.shape[1]] - found) ** 2).sum() / ((found - found.mean(0)) ** 2).sum()
    return round(float(1 - left), 4)


def _paths(model: GeoGAE, ends: Sequence[Graph]) -> NDArray[np.float32]:
    """z (PAIRS · STEPS, m) of the paths between each two graphs, as interpolate has them."""
    z = model.encode(ends)
    return paths(model._prior(), z[::2], z[1::2], STEPS).reshape(-1, z.shape[1])


def _path_scores(found: Sequence[str | None]) -> dict[str, Any]:
    """Midpoints that are molecules, and how steadily similarity passes from one end to the other."""
    from rdkit import Chem, DataStructs

    generator = morgan(2048)
    middles, taus = [], []
    for begin in range(0, len(found), STEPS):
        way = found[begin : begin + STEPS]
        middle = way[STEPS // 2]
        middles.append(middle is not None and "." not in middle)
        bits: list[Any] = [None if one is None else generator.GetFingerprint(Chem.MolFromSmiles(one)) for one in way]
        for end, sign in ((0, -1), (STEPS - 1, 1)):
            if bits[end] is None:  # a test molecule that does not come back
                taus.append(0.0)
                continue
            pairs = [
                (i, DataStructs.TanimotoSimilarity(bits[end], own)) for i, own in enumerate(bits) if own is not None
            ]
            tau = kendalltau([i for i, _ in pairs], [one for _, one in pairs]).statistic
            taus.append(0.0 if np.isnan(tau) else sign * float(tau))
    return {"pairs": len(middles), "midpoints_valid_connected": round(float(np.mean(middles)), 4),
            "tau": round(float(np.mean(taus)), 4)}  # fmt: skip


def graphs(name: str, every: Sequence[Graph], seed: int) -> Iterator[dict[str, Any]]:
    """Maximum mean discrepancies of draws against test graphs, beside draws of Erdős and Rényi, and training graphs."""
    plain = [graph.topology() for graph in every]
    train, validation, test = split(plain, seed)
    model = GeoGAE(latent_dim=128, descriptor=16, margin=0.8, leaves="kept", twins="auto", seed=seed)
    model.fit(train, validation=validation).fit_prior(train, core_minutes=CORE_MINUTES, seed=seed)
    rng = np.random.default_rng(seed)
    count = len(test)
    candidates = {
        "draws": model.sample(count, seed=seed),
        "training graphs": [train[i] for i in rng.choice(len(train), count)],
    }
    candidates["Erdős–Rényi"] = [_erdos_renyi(train[i], rng) for i in rng.choice(len(train), count)]
    model.fit_prior(train, prior="gaussian")
    candidates["draws of a normal distribution"] = model.sample(count, seed=seed)
    for what, drawn in candidates.items():
        yield {"task": "sample", "dataset": name, "seed": seed, "what": what, "draws": count,
               "connected": round(float(np.mean([is_connected(graph) for graph in drawn])), 4),
               **{f"{kind}_mmd": round(_mmd(make(drawn), make(test)), 5) for kind, make in KINDS.items()}}  # fmt: skip


def _erdos_renyi(graph: Graph, rng: np.random.Generator) -> Graph:
    """As many nodes, and edges with the same density."""
    chance = 2 * len(graph.edges) / max(1, graph.n * (graph.n - 1))
    return Graph(graph.n, np.argwhere(np.triu(rng.random((graph.n, graph.n)) < chance, 1)))


def _histograms(values: Sequence[NDArray[Any]], low: float, high: float) -> NDArray[np.float64]:
    return np.array([np.histogram(own.clip(low, high), BINS, (low, high))[0] / max(1, len(own)) for own in values])


def _degrees(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    return _histograms([graph.degrees for graph in graphs], 0, BINS)


def _clustering(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    found = []
    for packed in packed_chunks(graphs):
        degrees = packed.degrees
        closed = 2 * triangles(packed.start, packed.neighbour) / np.maximum(degrees * (degrees - 1), 1)
        found += np.split(closed, packed.first[1:-1])
    return _histograms(found, 0, 1)


def _spectra(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    found = []
    for graph in graphs:
        scale = 1 / np.sqrt(graph.degrees.clip(min=1))
        laplacian = np.diag((graph.degrees > 0).astype(float)) - scale[:, None] * graph.adjacency() * scale
        found.append(np.linalg.eigvalsh(laplacian))
    return _histograms(found, 0, 2)


KINDS = {"degree": _degrees, "clustering": _clustering, "spectral": _spectra}


def _mmd(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Squared maximum mean discrepancy of histograms, with a Gaussian kernel of their total variation."""

    def kernel(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        distance = np.abs(a[:, None] - b[None]).sum(2) / 2
        return float(np.exp(-(distance**2) / 2).mean())

    return kernel(one, one) + kernel(other, other) - 2 * kernel(one, other)
