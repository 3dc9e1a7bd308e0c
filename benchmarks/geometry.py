"""What the geometry reaches and what it costs. Each part is a line in benchmarks/studies/geometry.jsonl.

GEOGAE_DATA=… python benchmarks/geometry.py exact MUTAG AIDS …   # exact clouds in the smallest dimension
GEOGAE_DATA=… python benchmarks/geometry.py relabel              # the same cloud however nodes are numbered
GEOGAE_DATA=… python benchmarks/geometry.py speed                # against the paper's plain reading, side by side
python benchmarks/geometry.py kernels                            # numba, eager torch, torch.compile
python benchmarks/geometry.py scaling                            # from 1,000 to 20,000 nodes, with peak memory
python benchmarks/geometry.py largest                            # a tree of 100,000 nodes
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import torch

import geogae
from geogae import Graph, datasets
from geogae.geometry.descent import merge_adjacent_twins
from geogae.geometry.differentiable import focal, margins
from geogae.geometry.fitting import canonicalise, fit_clouds
from geogae.geometry.kernel import sphere_gradient
from geogae.geometry.recipe import Recipe
from geogae.geometry.torch_engine import descend_batch
from record import PICTURES, record

SAMPLE = 10_000  # molecules of QM9
GOALS = {"MUTAG": 3, "AIDS": 3, "IMDB-BINARY": 6, "SYNTHETICnew": 6, "QM9": 4, "COLLAB": 9}


def load(name: str) -> list[Graph]:
    graphs = datasets.load(name)
    if name != "QM9":
        return graphs
    chosen = np.random.default_rng(0).choice(len(graphs), SAMPLE, replace=False)
    return [graphs[i] for i in np.sort(chosen)]


def summary(graphs: list[Graph], clouds: list[geogae.HyperballCloud], seconds: float) -> dict[str, Any]:
    margin = np.array([cloud.margin for cloud in clouds])
    inexact = [cloud.graph.name for cloud in clouds if not cloud.exact]
    assert all(cloud.to_graph() == graph for cloud, graph in zip(clouds, graphs, strict=True) if cloud.exact)
    return {
        "dim": clouds[0].dim,
        "graphs": len(clouds),
        "exact": len(clouds) - len(inexact),
        "inexact": inexact,
        "margin": {"smallest": float(margin.min()), "median": float(np.median(margin))},
        "steps": {"median": float(np.median([c.steps for c in clouds])), "most": max(c.steps for c in clouds)},
        "tries": np.bincount([c.tries for c in clouds]).tolist(),
        "seconds": round(seconds, 2),
    }


def exact(names: list[str]) -> None:
    for name in names:
        graphs = load(name)
        rows = []
        begin = time.perf_counter()
        for dim in (GOALS[name], "auto"):
            start = time.perf_counter()
            clouds = fit_clouds(graphs, dim, cache=False, progress=True)
            rows.append({"asked": dim, **summary(graphs, clouds, time.perf_counter() - start)})
            print(name, rows[-1], flush=True)
        config = {"dataset": name, "sample": SAMPLE if name == "QM9" else None, "recipe": str(Recipe())}
        record("geometry", f"exact-{name}", config, rows, time.perf_counter() - begin)


def families() -> dict[str, Graph]:
    made = {
        "star 3000": nx.star_graph(3000), "complete 300": nx.complete_graph(300), "empty 500": nx.empty_graph(500),
        "cycle 200": nx.cycle_graph(200), "grid 12x12": nx.grid_2d_graph(12, 12), "petersen": nx.petersen_graph(),
        "4-regular 60": nx.random_regular_graph(4, 60, seed=0), "hypercube 6": nx.hypercube_graph(6),
        "20 hexagons": nx.disjoint_union_all([nx.cycle_graph(6)] * 20),
        "bipartite 20,30": nx.complete_bipartite_graph(20, 30),
        "binary tree 255": nx.balanced_tree(2, 7),
    }  # fmt: skip
    return {name: geogae.formats.from_networkx(graph) for name, graph in made.items()}


def relabel() -> None:
    """Three random numberings each: identical ordered adjacency, clouds equal within 1e-5, whatever the batch."""
    random = np.random.default_rng(0)
    begin = time.perf_counter()
    cases = {name: (datasets.load(name)[:200], dim) for name, dim in (("MUTAG", 3), ("AIDS", 4), ("IMDB-BINARY", 6))}
    cases |= {name: ([graph], 8) for name, graph in families().items()}
    rows = {}
    for name, (graphs, dim) in cases.items():
        start = time.perf_counter()
        clouds = fit_clouds(graphs, dim, cache=False, tries=2, budget=2e9)
        same, apart = 0, 0.0
        for _ in range(3):
            numberings = [random.permutation(graph.n) for graph in graphs]
            renumbered = [graph.relabel(numbering) for graph, numbering in zip(graphs, numberings, strict=True)]
            mixed = random.permutation(len(graphs))  # other company: another order, and two batches of one
            half = random.integers(len(graphs) + 1)
            again = [
                cloud
                for part in (mixed[:half], mixed[half:])
                for cloud in fit_clouds([renumbered[i] for i in part], dim, cache=False, tries=2, budget=2e9)
            ]
            for i, cloud in zip(mixed, again, strict=True):
                before, after = clouds[i].ordered(), cloud.ordered()
                same += np.array_equal(before.graph.edges, after.graph.edges)
                apart = max(apart, float(np.abs(before.balls - after.balls).max()))
        checked = 3 * len(graphs)
        seconds = round(time.perf_counter() - start, 2)
        rows[name] = {
            "dim": dim,
            "checked": checked,
            "identical": int(same),
            "exact": sum(c.exact for c in clouds),
            "apart": apart,
            "seconds": seconds,
        }
        print(name, rows[name], flush=True)
    record("geometry", "relabel", {"numberings": 3, "tries": 2, "budget": 2e9}, rows, time.perf_counter() - begin)


def papers_reading(graphs: list[Graph], dim: int, rate: float, restarts: int, limit: float) -> dict[str, Any]:
    """Random start, batched Adam in eager torch, graphs of like size together; again for what is inexact."""
    random = np.random.default_rng(0)
    start = time.perf_counter()
    left = sorted(graphs, key=lambda graph: -graph.n)
    steps = 0
    for _ in range(restarts):
        batches: list[list[Graph]] = []
        for graph in left:
            if not batches or (len(batches[-1]) + 1) * batches[-1][0].n ** 2 > 4_000_000:
                batches.append([])
            batches[-1].append(graph)
        left = []
        for batch in batches:
            starts = [random.standard_normal((graph.n, dim)).astype(np.float32) for graph in batch]
            results = descend_batch(
                starts, [graph.adjacency() for graph in batch], alpha=0.5, gamma=2.0, temperature=0.4, margin=0.0,
                rate=rate, steps=1000, widen=0, device="cpu",
            )  # fmt: skip
            for graph, (balls, taken) in zip(batch, results, strict=True):
                steps += taken
                cloud = geogae.HyperballCloud(balls[:, :-1], balls[:, -1], np.arange(graph.n), graph)
                left += [] if cloud.exact else [graph]
            if time.perf_counter() - start > limit:
                break
        if not left or time.perf_counter() - start > limit:
            break
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 2), "inexact": len(left), "within_limit": seconds <= limit, "rate": rate}


def speed(limit: float = 300.0) -> None:
    """Everything from graphs, without attributes, to exact clouds, labelling included; both sides use all cores."""
    large = geogae.formats.from_networkx(nx.random_labeled_tree(200, seed=0))
    fit_clouds([*datasets.load("MUTAG")[:8], large], 4, cache=False)  # compile first, what large graphs need, too
    rows = {}
    begin = time.perf_counter()
    collab = sorted(datasets.load("COLLAB"), key=lambda graph: graph.n)[:4500]
    for name, graphs, dim in (("AIDS", datasets.load("AIDS"), 6), ("COLLAB, smallest 4,500", collab, 9)):
        graphs = [graph.topology() for graph in graphs]
        rates = {
            rate: papers_reading(graphs[:: len(graphs) // 50], dim, rate, 1, 60) for rate in (0.02, 0.05, 0.1, 0.2)
        }
        rate = min(rates, key=lambda r: (rates[r]["inexact"], rates[r]["seconds"]))  # the best step for the other side
        rounds = []
        for _ in range(5 if name == "AIDS" else 1):  # in turns: a noisy neighbour disturbs both sides
            start = time.perf_counter()
            for graph in graphs:
                canonicalise(graph)
            labelled = time.perf_counter()
            clouds = fit_clouds(graphs, dim, cache=False, margin=0.0)
            fitted = time.perf_counter()
            theirs = papers_reading(graphs, dim, rate, 5, limit)
            whole, labelling = fitted - labelled, labelled - start
            mine = {"seconds": round(whole, 2), "labelling_seconds": round(labelling, 2)}
            mine["inexact"] = sum(not cloud.exact for cloud in clouds)
            ratios = {"whole": round(theirs["seconds"] / whole, 1)}
            ratios["fit"] = round(theirs["seconds"] / (whole - labelling), 1)
            rounds.append({"ours": mine, "papers_reading": theirs, "ratios": ratios})
        middle = sorted(rounds, key=lambda r: r["ratios"]["whole"])[len(rounds) // 2]
        rows[name] = {"dim": dim, **middle, "rounds": [r["ratios"] for r in rounds]}
        print(name, rows[name], flush=True)
    record("geometry", "speed", {"threads": torch.get_num_threads(), "limit": limit}, rows, time.perf_counter() - begin)


def kernels() -> None:
    """Gradient steps of L_sphere on one core: pairs a second for the fused kernel, eager torch and torch.compile."""
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    begin = time.perf_counter()

    def torch_step(balls: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return (focal(margins(balls) / 0.4, sign > 0, 0.5, 2.0) * (sign != 0)).sum()

    compiled = torch.compile(torch_step)
    rows = []
    for n, count, dim in ((16, 2000, 6), (75, 100, 9), (200, 20, 9), (1000, 1, 9)):
        balls = random.standard_normal((count, n, dim)).astype(np.float32) * n ** (1 / dim)
        sign = np.where(random.random((count, n, n)) < 0.1, 1, -1).astype(np.int8)
        pairs = count * n * (n - 1) / 2
        centers = [np.ascontiguousarray(b[:, :-1].T) for b in balls]
        raws = [b[:, -1].copy() for b in balls]
        gradient, scratch = np.zeros((dim - 1, n), np.float32), [np.zeros(n, np.float32) for _ in range(4)]
        constants = [np.float32(x) for x in (0.5, 2.0, 0.4, 0.2)]

        arguments = list(zip(centers, raws, sign, strict=True))

        def fused(arguments: Any = arguments, rest: Any = (*constants, gradient, *scratch)) -> None:
            for balls_and_sign in arguments:
                sphere_gradient(*balls_and_sign, *rest)

        tensor = torch.from_numpy(balls).requires_grad_(True)
        upper = torch.from_numpy(np.triu(sign, 1)).float()

        def by_torch(step: Callable[..., torch.Tensor], tensor: Any = tensor, upper: Any = upper) -> None:
            torch.autograd.grad(step(tensor, upper), tensor)

        row: dict[str, Any] = {"n": n, "graphs": count, "dim": dim}
        for name, work in (
            ("numba", fused),
            ("eager", lambda: by_torch(torch_step)),
            ("compile", lambda: by_torch(compiled)),
        ):
            start = time.perf_counter()
            work()
            first = time.perf_counter() - start
            times = []
            for _ in range(5):
                start = time.perf_counter()
                work()
                times.append(time.perf_counter() - start)
            row[name] = {"ns_per_pair": round(1e9 * min(times) / pairs, 2), "first_call_seconds": round(first, 2)}
        rows.append(row)
        print(row, flush=True)
    record("geometry", "kernels", {"threads": 1}, rows, time.perf_counter() - begin)


def _grid(n: int) -> nx.Graph:
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(round(n**0.5), round(n**0.5)))


KINDS: dict[str, tuple[Callable[[int], nx.Graph], int]] = {  # kind → graph of about n nodes, and its dimension
    "tree": (lambda n: nx.random_labeled_tree(n, seed=0), 6),
    "grid": (_grid, 4),
    "preferential attachment": (lambda n: nx.barabasi_albert_graph(n, 1, seed=0), 9),
    "random": (lambda n: nx.gnm_random_graph(n, 2 * n, seed=0), 12),
}
SIZES = (1000, 2000, 5000, 10_000, 20_000)


def _fit_one(kind: str, n: int, pipe: Any) -> None:
    make, dim = KINDS[kind]
    warm = [geogae.formats.from_networkx(graph) for graph in (nx.path_graph(70), nx.path_graph(1100), make(1100))]
    fit_clouds(warm, dim, cache=False, steps=1, tries=1)  # compile first, labelling included
    graph = geogae.formats.from_networkx(make(n))
    start = time.process_time()
    topology = canonicalise(graph).topology
    labelled = time.process_time()
    core, _ = merge_adjacent_twins(topology)
    [cloud] = fit_clouds([graph], dim, cache=False, tries=1, n_jobs=1)
    end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # GiB
    pipe.send(
        {"kind": kind, "n": graph.n, "dim": dim, "balls": core.n, "labelling_seconds": round(labelled - start, 3),
         "fit_seconds": round(end - labelled, 2), "steps": cloud.steps, "exact": cloud.exact,
         "peak_gib": round(peak, 2)}
    )  # fmt: skip


def _in_own_process(kind: str, n: int) -> dict[str, Any]:
    """Of one graph: a process of its own has a peak of memory of its own."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe()
    process = context.Process(target=_fit_one, args=(kind, n, send))
    process.start()
    row: dict[str, Any] = receive.recv()
    process.join()
    print(row, flush=True)
    return row


def scaling(kinds: list[str], sizes: tuple[int, ...] = SIZES, limit: float = 300.0) -> None:
    """Processor time and memory of one graph; no larger one once ``limit`` is passed."""
    begin = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        for n in sizes:
            rows.append(_in_own_process(kind, n))
            if rows[-1]["fit_seconds"] > limit:
                break
    config = {"tries": 1, "seconds": "processor time, one core", "exponents": exponents(rows), "limit": limit}
    record("geometry", "scaling", config, rows, time.perf_counter() - begin)
    plot_scaling(rows)


def largest(n: int = 100_000) -> None:
    begin = time.perf_counter()
    row = _in_own_process("tree", n)
    config = {"tries": 1, "seconds": "processor time, one core"}
    record("geometry", "largest", config, [row], time.perf_counter() - begin)


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """k of time ~ n^k by kind, least squares in logarithms."""
    slopes = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        n, seconds = np.array([(row["n"], row["fit_seconds"]) for row in rows if row["kind"] == kind]).T
        if len(n) > 1:
            slopes[kind] = round(float(np.polyfit(np.log(n), np.log(np.maximum(seconds, 1e-3)), 1)[0]), 2)
    return slopes


def plot_scaling(rows: list[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure

    slopes = exponents(rows)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        chosen = [row for row in rows if row["kind"] == kind]
        n = [row["n"] for row in chosen]
        label = f"{kind} (d={chosen[0]['dim']}), n^{slopes.get(kind, float('nan')):.2f}"
        left.loglog(n, [row["fit_seconds"] for row in chosen], "o-", label=label)
        right.loglog(n, [1e3 * row["fit_seconds"] / max(1, row["steps"]) for row in chosen], "o-", label=label)
    left.set(xlabel="nodes", ylabel="seconds of one core", title="Fitting one graph")
    right.set(xlabel="nodes", ylabel="milliseconds a step", title="One step")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend(frameon=False)
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / "scaling.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("exact", "relabel", "speed", "kernels", "scaling", "largest"))
    parser.add_argument("datasets", nargs="*", default=list(GOALS))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), help="of graphs, for scaling")
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    parts: dict[str, Callable[[], None]] = {
        "relabel": relabel,
        "speed": speed,
        "kernels": kernels,
        "scaling": lambda: scaling(chosen.kinds),
        "largest": largest,
    }
    exact(chosen.datasets) if chosen.part == "exact" else parts[chosen.part]()


if __name__ == "__main__":
    main()
