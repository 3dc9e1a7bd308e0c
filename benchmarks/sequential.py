"""The paper's autoencoder on this machine. Each part is a line in benchmarks/studies/sequential.jsonl.

GEOGAE_DATA=… python benchmarks/sequential.py quality AIDS --threads 1    # the paper's preset, one seed
GEOGAE_DATA=… python benchmarks/sequential.py ablations --epochs 50       # K, VAE, bundles on MUTAG
GEOGAE_DATA=… python benchmarks/sequential.py curves                      # a picture of the quality runs
GEOGAE_DATA=… python benchmarks/sequential.py speed                       # against the straightforward build
"""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from geogae import GeoGAE, Graph, datasets, metrics
from geogae.autoencoders.transformer.losses import total_loss
from geogae.autoencoders.transformer.network import SequentialNetwork
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.autoencoders.transformer.sequential import SequentialAutoencoder
from geogae.benchmark.methods.autoencoder import preset
from geogae.benchmark.paper import paper
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.labelling.labelling import canonical_form
from geogae.plots import PALETTE
from geogae.training.batches import by_size, epoch_batches
from record import PICTURES, record, recorded

RUNS = Path("runs")
DATASETS = ("MUTAG", "AIDS", "IMDB-BINARY", "SYNTHETICnew")


def measured(model: GeoGAE, graphs: list[Graph]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Averages and the scores graph by graph, from z alone."""
    true, decoded = (list(side) for side in zip(*model.reconstruct(graphs), strict=True))
    return metrics.evaluate(true, decoded), {k: v.round(4).tolist() for k, v in metrics.scores(true, decoded).items()}


@torch.inference_mode()
def teacher_forced(model: GeoGAE, graphs: list[Graph]) -> list[float]:
    """F1 of each stacked pass when the first one is fed the truth: what is lost beyond that is lost to drift."""
    readings, network = model.autoencoder_.read(graphs), model.autoencoder_.network
    sequences = Sequences([reading.cloud for reading in readings])
    weighted = np.zeros(network.passes)
    for chosen in by_size(sequences.sizes, 64, sequences.pairs):
        batch = sequences[chosen]
        out = network(batch.balls, batch.sizes)
        for k in range(network.passes):
            for row, index in enumerate(chosen):
                n = int(batch.sizes[row])
                balls = out.balls[k, row, :n].float().numpy()
                graph = HyperballCloud(balls[:, :-1], balls[:, -1], np.arange(n)).to_graph()
                weighted[k] += n * metrics.edge_f1(readings[index].ordered, graph)
    return (weighted / sum(graph.n for graph in graphs)).round(4).tolist()


def quality(name: str, core_minutes: float, seed: int = 0) -> None:
    begin = time.perf_counter()
    train, validation, test = datasets.split(datasets.load(name), seed=seed)
    changes: dict[str, Any] = {"core_minutes": core_minutes, "epochs": None, "seed": seed, "validations": 40}
    model = GeoGAE.from_preset(f"paper/{name.lower()}", **changes)
    run = RUNS / f"sequential-{name}"
    model.fit(train, validation=validation, run=run, progress=True)
    averages, graphs = measured(model, test)
    right = [f1 for f1, error in zip(graphs["f1"], graphs["size_error"], strict=True) if error == 0]
    analysis = {
        "train_f1": measured(model, train[:200])[0]["f1"],
        "teacher_forced_f1_by_pass": teacher_forced(model, test),
        "share_of_wrong_sizes": round(1 - len(right) / len(test), 4),
        "f1_where_the_size_is_right": round(float(np.mean(right)), 4) if right else None,
        "f1_of_small_and_large_half": _halves(graphs["f1"], [graph.n for graph in test]),
    }
    config = {"dataset": name, "threads": torch.get_num_threads(), "params": model.get_params()}
    memory = seen_and_unseen(train, test, graphs)
    outcome = {"test": averages, "analysis": analysis, "memory": memory, "curve": model.history_}
    record("sequential", f"quality-{name}", config, outcome, time.perf_counter() - begin)
    print(name, averages, analysis, flush=True)


def _halves(f1: list[float], sizes: list[int]) -> list[float]:
    order = np.argsort(sizes, kind="stable")
    return [round(float(np.mean(np.array(f1)[part])), 4) for part in np.array_split(order, 2)]


def ablations(epochs: int, seed: int = 0) -> None:
    """Equal epochs, so that a busy machine is no part of the comparison."""
    begin = time.perf_counter()
    train, validation, test = datasets.split(datasets.load("MUTAG"), seed=seed)
    changes: dict[str, dict[str, Any]] = {
        "baseline": {}, "K = 1": {"passes": 1}, "K = 2": {"passes": 2}, "VAE": {"variational": True},
        "b = 2": {"bundle": 2}, "b = 4": {"bundle": 4}, "b = 8": {"bundle": 8},
    }  # fmt: skip
    rows = []
    for name, change in changes.items():
        model = GeoGAE.from_preset("paper/mutag", epochs=epochs, seed=seed, **change)
        model.fit(train, validation=validation, progress=True)
        printed = paper().ablations.get(name, {}).get("MUTAG", {})
        paper_f1, paper_size = (printed[score].mean if printed else None for score in ("f1", "size_error"))
        averages, _ = measured(model, test)
        rows.append({"name": name, "test": averages, "paper_f1": paper_f1, "paper_size": paper_size,
                     "steps": model.history_[-1]["step"]})  # fmt: skip
        print(name, averages, flush=True)
    config = {"dataset": "MUTAG", "epochs": epochs, "seed": seed, "threads": torch.get_num_threads()}
    record("sequential", "ablations", config, rows, time.perf_counter() - begin)


def seen_and_unseen(train: list[Graph], test: list[Graph], graphs: dict[str, Any]) -> dict[str, Any]:
    """Scores of the test graphs that are isomorphic to a training graph, and of the others."""
    known = {canonical_form(graph.topology()) for graph in train}
    seen = np.array([canonical_form(graph.topology()) in known for graph in test])
    each = {score: np.array(values) for score, values in graphs.items()}
    sizes = np.array([graph.n for graph in test])
    parts = {"seen": seen, "unseen": ~seen}
    return {kind: {"graphs": int(part.sum()), **_over(each, part, sizes)} for kind, part in parts.items()}


def _over(each: dict[str, np.ndarray], part: np.ndarray, sizes: np.ndarray) -> dict[str, float | None]:
    """Averages over some of the graphs; F1 weighted by their sizes, as everywhere."""
    if not part.any():
        return {"f1": None, "exact": None, "size_error": None}
    return {
        "f1": round(float(np.average(each["f1"][part], weights=sizes[part])), 4),
        "exact": round(float(each["exact"][part].mean()), 4),
        "size_error": round(float(np.abs(each["size_error"][part]).mean()), 4),
    }


def curves() -> None:
    """Validation F1 against core minutes for every quality run that there is, the paper's test F1 as a dashed line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    for colour, name in zip(PALETTE, DATASETS, strict=False):
        if found := recorded("sequential").get(f"quality-{name}"):
            rows = found["result"]["curve"]
            cores = found["config"]["threads"]  # an earlier run knows the clock's time only
            minutes = [row.get("core_seconds", cores * row["seconds"]) / 60 for row in rows]
            axes.plot(minutes, [100 * row["validation_f1"] for row in rows], color=colour, label=name)
            axes.axhline(paper().geogae(name).mean, color=colour, ls="--", lw=0.8)
    axes.set(xlabel="core minutes", ylabel="F1 [%]", title="Validation F1, decoded from z; dashed: the paper's test F1")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURES / "curves.png", dpi=110)


# -- speed ------------------------------------------------------------------------------------------------------------


class Straightforward(nn.Module):
    """The same sizes out of torch's own layers, as one would write it first; no RoPE, learned positions instead."""

    def __init__(
        self, d: int, token: int, tokens: int, encoder: tuple[int, int, int], decoder: tuple[int, int, int]
    ) -> None:
        super().__init__()
        width, layers, heads = encoder
        layer = nn.TransformerEncoderLayer(token, heads, width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(token), enable_nested_tensor=False)
        width, layers, heads = decoder
        layer = nn.TransformerDecoderLayer(token, heads, width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(layer, layers, nn.LayerNorm(token))
        self.into = nn.Sequential(nn.Linear(d, token), nn.GELU(), nn.Linear(token, token))
        self.back = nn.Sequential(nn.Linear(d, token), nn.GELU(), nn.Linear(token, token))
        self.out = nn.Sequential(nn.Linear(token, token), nn.GELU(), nn.Linear(token, d + 1))
        self.cls = nn.Parameter(torch.randn(tokens, token))
        self.start = nn.Parameter(torch.randn(token))
        self.positions = nn.Parameter(torch.randn(512, token))
        self.tokens = tokens

    def encode(self, balls: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        count, n, _ = balls.shape
        x = torch.cat([self.cls.expand(count, -1, -1), self.into(balls) + self.positions[:n]], 1)
        c = self.tokens
        mask = torch.zeros(n + c, n + c, dtype=torch.bool)
        mask[:c, :c] = ~torch.eye(c, dtype=torch.bool)
        absent = torch.arange(n)[None] >= sizes[:, None]
        absent = torch.cat([torch.zeros(count, c, dtype=torch.bool), absent], 1)
        return self.encoder(x, mask=mask, src_key_padding_mask=absent)[:, :c]

    def step(self, tokens: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        n = tokens.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(n)
        out = self.out(self.decoder(tokens + self.positions[:n], memory, tgt_mask=causal, tgt_is_causal=True))
        return out[..., :-1], out[..., -1]

    def forward(self, balls: torch.Tensor, sizes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        memory, fed = self.encode(balls, sizes), balls
        outputs = []
        for _ in range(3):
            start = self.start.expand(len(balls), 1, -1)
            outputs.append(self.step(torch.cat([start, self.back(fed[:, :-1])], 1), memory))
            fed = outputs[-1][0]
        return torch.stack([o[0] for o in outputs]), torch.stack([o[1] for o in outputs])


def speed() -> None:
    begin = time.perf_counter()
    train, _, test = datasets.split(datasets.load("AIDS"), seed=0)
    clouds = fit_clouds(train, 6)
    sequences = Sequences(clouds)
    rows = [_training_speed(sequences), _decoding_speed(), *_use_speed(test)]
    record(
        "sequential",
        "speed",
        {"threads": torch.get_num_threads(), "preset": "paper/aids"},
        rows,
        time.perf_counter() - begin,
    )
    print(rows)


def _training_speed(sequences: Sequences, batches: int = 30) -> dict[str, Any]:
    values = preset("paper", "AIDS")
    values.pop("architecture")
    model = SequentialAutoencoder(**values)
    ours = model._built().train()
    plain = Straightforward(6, 64, 3, (1024, 4, 8), (512, 2, 1)).train()
    bucketed = epoch_batches(sequences.sizes, 32, 0, 0)[:batches]
    shuffled = np.random.default_rng(0).permutation(len(sequences))[: 32 * batches].reshape(-1, 32).tolist()
    autocast = model._autocast(32 * float(sequences.sizes.mean()))

    def run(network: nn.Module, chosen: list[list[int]], low: bool, fused: bool) -> float:
        optimizer = torch.optim.AdamW(network.parameters(), 1e-4, fused=fused)
        start = time.perf_counter()
        for numbers in chosen:
            batch = sequences[numbers]
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                out = network(batch.balls, batch.sizes)
                loss = total_loss(out[0], out[1], batch.balls, batch.adjacency, batch.sizes)["total"]
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
        return sum(map(len, chosen)) / (time.perf_counter() - start)

    pairs = []
    for _ in range(3):  # in turns, so that a noisy neighbour disturbs both
        mine, other = run(ours, bucketed, autocast, True), run(plain, shuffled, False, False)
        pairs.append((mine / other, mine, other))
    ratio, mine, other = sorted(pairs)[1]
    return {"what": "training on AIDS", "ours": f"{mine:.0f} graphs/s", "other": f"{other:.0f} graphs/s",
            "ratio": ratio, "bfloat16": autocast}  # fmt: skip


@torch.inference_mode()
def _decoding_speed(count: int = 32, nodes: int = 100) -> dict[str, Any]:
    """All graphs get 100 nodes: an untrained decoder whose stop logits are held down."""
    torch.manual_seed(0)
    model = SequentialNetwork(6).eval()
    model.decoder.head.mlp[-1].bias[-1] = -1e4
    z = torch.randn(count, model.latent_tokens, model.latent_dim // model.latent_tokens)

    def uncached() -> torch.Tensor:
        memory, balls = model.decoder.read(z), torch.zeros(count, 1, 6)
        for _ in range(nodes):
            balls = torch.cat([model.decoder(balls, memory)[0], torch.zeros(count, 1, 6)], 1)  # all of it again
        return balls[:, :nodes]

    pairs = []
    for _ in range(3):
        start = time.perf_counter()
        decoded = model.decoder.generate(z, nodes)
        middle = time.perf_counter()
        plain = uncached()
        end = time.perf_counter()
        assert int(decoded.sizes.min()) == nodes and torch.allclose(decoded.balls, plain, atol=1e-4)
        pairs.append(((end - middle) / (middle - start), middle - start, end - middle))
    ratio, mine, other = sorted(pairs)[1]
    what = f"decoding {count} graphs of {nodes} nodes, with and without cache"
    return {"what": what, "ours": f"{mine:.2f} s", "other": f"{other:.2f} s", "ratio": round(ratio, 2)}


def _use_speed(test: list[Graph]) -> list[dict[str, Any]]:
    """Encode and decode of AIDS test graphs, clouds in the cache, with the model of the quality run."""
    model = GeoGAE.load(RUNS / "sequential-AIDS")
    many = test * 4
    z = model.encode(many)
    rows = []
    for what, work in (("encoding AIDS, batched and one by one", model.encode), ("decoding AIDS", model.decode)):
        items: Any = many if work == model.encode else z
        start = time.perf_counter()
        work(items)
        batched = len(many) / (time.perf_counter() - start)
        start = time.perf_counter()
        for item in items[:60]:
            work(item)
        single = 60 / (time.perf_counter() - start)
        cells = {"ours": f"{batched:.0f} graphs/s", "other": f"{single:.0f} graphs/s one by one"}
        rows.append({"what": what, **cells, "ratio": round(batched / single, 2)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("quality", "ablations", "curves", "speed"))
    parser.add_argument("dataset", nargs="?", default="MUTAG")
    parser.add_argument("--core-minutes", type=float, default=40, help="processor time of a quality run")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    torch.set_num_threads(chosen.threads)
    if chosen.part == "quality":
        quality(chosen.dataset, chosen.core_minutes)
    elif chosen.part == "ablations":
        ablations(chosen.epochs)
    elif chosen.part == "curves":
        curves()
    else:
        speed()


if __name__ == "__main__":
    main()
