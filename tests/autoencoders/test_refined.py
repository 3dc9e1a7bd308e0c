"""The z that settles: what is right stays, what can be repaired is, the decoder is linear and sees z alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from geogae.geometry.family import FREE, Bounds
from geogae.model.linear import BLOCK, LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder, shared_balls
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from geogae import datasets
from geogae.autoencoders.transformer.sequences import Batch, Sequences
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.graph import Graph
from geogae.training.checkpoint import load_checkpoint, save_checkpoint

D, M = 3, 36  # 35 numbers for clouds of up to 84
LIMIT = 60  # nodes


def circles(seed: int) -> Graph:
    """Cliques that share one node: in each, all others are twins."""
    n, edges = 1, []
    for more in np.random.default_rng(seed).integers(1, 7, 1 + seed % 4).tolist():
        members = [0, *range(n, n + more)]
        n += more
        edges += [(i, j) for i in members for j in members if i < j]
    return Graph(n, edges)


@pytest.fixture(scope="module")
def clouds() -> list[HyperballCloud]:
    return fit_clouds(datasets.load("MUTAG")[:70], D, order="axis")


@pytest.fixture(scope="module")
def twins() -> list[HyperballCloud]:
    return [cloud.grouped() for cloud in fit_clouds([circles(seed) for seed in range(60)], D)]


@pytest.fixture(scope="module")
def batch(clouds: list[HyperballCloud]) -> Batch:
    """Graphs that the model has not seen."""
    return Sequences(clouds)[list(range(50, 70))]


def fitted(clouds: list[HyperballCloud], latent_dim: int = M, descent: int = 500) -> ParallelAutoencoder:
    model = ParallelAutoencoder(D, slots=28, latent_dim=latent_dim, descent=descent, shared=False)
    model.fit([cloud.balls for cloud in clouds[:50]])
    return model


def sharing(twins: list[HyperballCloud], latent_dim: int = 12, descent: int = 500) -> ParallelAutoencoder:
    model = ParallelAutoencoder(D, slots=5, latent_dim=latent_dim, descent=descent, shared=True)
    model.fit([cloud.balls for cloud in twins[:40]])
    return model


@pytest.fixture(scope="module")
def model(clouds: list[HyperballCloud]) -> ParallelAutoencoder:
    return fitted(clouds)


def code(model: ParallelAutoencoder, batch: Batch) -> Tensor:
    return model.encode(batch.balls, batch.sizes, adjacency=batch.adjacency)


def read_back(model: LinearAutoencoder, z: Tensor) -> list[Graph]:
    decoded = model.decode(z, LIMIT)
    return [
        HyperballCloud(balls[:n, :-1], balls[:n, -1], np.arange(n)).to_graph()
        for balls, n in zip(decoded.balls.numpy(), decoded.sizes.tolist(), strict=True)
    ]


def right(model: LinearAutoencoder, z: Tensor, batch: Batch) -> np.ndarray:
    joined = zip(batch.adjacency.numpy(), batch.sizes.tolist(), strict=True)
    true = [Graph(n, np.argwhere(np.triu(one))) for one, n in joined]
    return np.array([one == two for one, two in zip(read_back(model, z), true, strict=True)])


# -- settling ---


def test_what_is_right_stays_and_what_is_not_is_mostly_repaired(model: ParallelAutoencoder, batch: Batch) -> None:
    z, settled = model.encode(batch.balls, batch.sizes), code(model, batch)
    before, after = right(model, z, batch), right(model, settled, batch)
    moved = (settled != z).any(1).numpy()
    assert before.sum() >= 3 and after.sum() >= before.sum() + 8
    assert not (before & ~after).any() and (moved | before)[after].all()
    assert torch.equal(settled[:, 0], z[:, 0]) and settled[:, 0].tolist() == batch.sizes.tolist()
    assert (~moved).any() and settled.dtype == z.dtype and settled.isfinite().all()


def test_the_more_steps_the_more_graphs(clouds: list[HyperballCloud], batch: Batch) -> None:
    models = [fitted(clouds, latent_dim=24, descent=descent) for descent in (0, 5, 50, 500)]
    counts = [int(right(model, code(model, batch), batch).sum()) for model in models]
    assert counts == sorted(counts) and counts[-1] > counts[0] + 3


def test_without_descent_it_is_the_linear_one(clouds: list[HyperballCloud], batch: Batch) -> None:
    still, linear = fitted(clouds, descent=0), LinearAutoencoder(D, slots=28, latent_dim=M)
    linear.fit([cloud.balls for cloud in clouds[:50]])
    z = code(still, batch)
    assert torch.equal(z, linear.encode(batch.balls, batch.sizes))
    assert torch.equal(z, fitted(clouds).encode(batch.balls, batch.sizes))  # nor without a graph to descend to
    assert torch.equal(still.decode(z, LIMIT).balls, linear.decode(z, LIMIT).balls)
    assert still.state_dict().keys() == linear.state_dict().keys() and not list(still.parameters())


def test_numbers_without_an_axis_stay_zero(clouds: list[HyperballCloud], batch: Batch) -> None:
    wide = fitted(clouds, latent_dim=28 * D + 20)
    z = code(wide, batch)
    assert not z[:, 28 * D + 1 :].any() and right(wide, z, batch).all()


def test_single_nodes(model: ParallelAutoencoder) -> None:
    one = torch.ones(2, dtype=torch.long)
    z = model.encode(torch.ones(2, 1, D), one, adjacency=torch.zeros(2, 1, 1, dtype=torch.bool))
    assert torch.equal(z, model.encode(torch.ones(2, 1, D), one))
    assert read_back(model, z) == [Graph(1), Graph(1)]


# -- each graph by itself ---


@pytest.mark.parametrize("shared", [False, True])
def test_batched_is_single_to_the_last_bit(
    shared: bool, clouds: list[HyperballCloud], twins: list[HyperballCloud]
) -> None:
    model, some = (sharing(twins, latent_dim=7), twins) if shared else (fitted(clouds), clouds)
    sequences, count = Sequences(some), len(some)
    assert len({cloud.n for cloud in some}) > 8

    def own(chosen: list[int]) -> Tensor:
        return code(model, sequences[chosen])

    together = own(list(range(count)))
    assert torch.equal(torch.cat([own([graph]) for graph in range(count)]), together)
    order = np.random.default_rng(0).permutation(count).tolist()
    assert torch.equal(torch.cat([own(order[:23]), own(order[23:])]), together[order])


def test_padding_is_not_read(model: ParallelAutoencoder, batch: Batch) -> None:
    z = code(model, batch)
    beyond = torch.arange(batch.balls.shape[1]) >= batch.sizes[:, None]
    joined = batch.adjacency | beyond[:, :, None] | beyond[:, None]
    balls = batch.balls.masked_fill(beyond[..., None], float("nan"))
    assert torch.equal(model.encode(balls, batch.sizes, adjacency=joined), z)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 3 * BLOCK), min_size=2, max_size=8), st.integers(0, 2**16), st.integers(2, 60))
def test_the_linear_z_is_a_graph_s_own_to_the_last_bit(sizes: list[int], seed: int, latent_dim: int) -> None:
    random = np.random.default_rng(seed)
    model = LinearAutoencoder(2, slots=3 * BLOCK, latent_dim=latent_dim)
    model.fit([random.normal(size=(n, 2)).astype(np.float32) for n in (3 * BLOCK, *sizes)])
    balls = torch.from_numpy(random.normal(size=(len(sizes), max(sizes), 2)).astype(np.float32))
    z = model.encode(balls, torch.tensor(sizes))
    for row, n in enumerate(sizes):
        assert torch.equal(model.encode(balls[row : row + 1, :n], torch.tensor([n]))[0], z[row])


# -- what slots carry beside their balls ---

E, RIDERS = 2, 3


def loaded(clouds: list[HyperballCloud], seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Balls with a whole number, mostly 0, and a free one beside them, and riders."""
    random = np.random.default_rng(seed)
    nodes = []
    for cloud in clouds:
        whole = (random.random(cloud.n) < 0.15) * random.integers(1, 3, cloud.n)
        nodes.append(np.column_stack([cloud.balls, whole, random.normal(size=cloud.n)]).astype(np.float32))
    return nodes, random.normal(5, 30, (len(clouds), RIDERS)).astype(np.float32)


@pytest.mark.parametrize("variational", [False, True])
def test_a_descent_meets_bounds_and_leaves_riders_alone(clouds: list[HyperballCloud], variational: bool) -> None:
    nodes, riders = loaded(clouds)
    model = ParallelAutoencoder(D + E, slots=28, latent_dim=70, descent=500, riders=RIDERS, spare=0.3,
                                variational=variational)  # fmt: skip
    model.fit(nodes[:50], riders[:50])
    batch = Sequences(clouds)[list(range(50, 70))]
    balls = nn.utils.rnn.pad_sequence([torch.from_numpy(own) for own in nodes[50:]], batch_first=True)
    noise, own = torch.full_like(balls, 1e-3), torch.from_numpy(riders[50:])
    bounds = []
    for numbers in nodes[50:]:
        low, high = (np.full((len(numbers), E), bound, np.float32) for bound in (-FREE, FREE))
        low[:, 0], high[:, 0] = numbers[:, D] - 0.5, numbers[:, D] + 0.5
        bounds.append(Bounds(low, high, np.array([30, 0], np.float32)))
    start = model.encode(balls, batch.sizes, noise, own)
    z = model.encode(balls, batch.sizes, noise, own, adjacency=batch.adjacency, bounds=bounds)
    assert torch.equal(model.encode(balls, batch.sizes, noise, own, adjacency=batch.adjacency, bounds=bounds), z)

    def whole(z: Tensor) -> np.ndarray:
        """Which graphs come back, whole numbers and all."""
        decoded = model.decode(z, LIMIT)
        pairs = zip(decoded.balls.numpy(), nodes[50:], batch.adjacency.numpy(), strict=True)
        return np.array([np.array_equal(back[: len(true), D].round(), true[:, D])
                         and Graph(len(true), np.argwhere(np.triu(joined)))
                         == HyperballCloud(back[: len(true), : D - 1], back[: len(true), D - 1],
                                           np.arange(len(true))).to_graph()
                         for back, true, joined in pairs])  # fmt: skip

    before, after = whole(start), whole(z)
    assert after.sum() >= before.sum() + 5 and not (before & ~after).any()
    assert model.parts(z)[2].numpy() == pytest.approx(riders[50:], rel=1e-5, abs=1e-4)
    assert torch.equal(model.decode(z, LIMIT).sizes, batch.sizes)
    moved = (z != start).any(1)
    assert moved.any() and z[moved][:, -RIDERS:].numpy() == pytest.approx(start[moved][:, -RIDERS:].numpy(), rel=1e-5)
    free = [Bounds(np.full_like(b.low, -FREE), np.full_like(b.low, FREE), b.weight) for b in bounds]
    unbound = model.encode(balls, batch.sizes, noise, own, adjacency=batch.adjacency, bounds=free)
    assert whole(unbound).sum() < after.sum()


# -- a slot for all who share a ball ---


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6))
def test_shared_balls(runs: list[tuple[int, int]]) -> None:
    balls = np.repeat([[ball, -ball] for ball, _ in runs], [times for _, times in runs], axis=0).astype(np.float32)
    slots, first = shared_balls(balls)
    assert np.array_equal(np.repeat(slots[:, :-1], slots[:, -1].astype(int) + 1, axis=0), balls)
    assert np.array_equal(balls[first], slots[:, :-1]) and slots.dtype == np.float32
    assert not (slots[1:, :-1] == slots[:-1, :-1]).all(1).any()


def test_twins_come_back_with_their_number(twins: list[HyperballCloud]) -> None:
    model, batch = sharing(twins), Sequences(twins)[list(range(40, 60))]
    z = code(model, batch)
    assert z[:, 0].tolist() == [cloud.different_balls for cloud in twins[40:]] and z[:, 0].max() <= 5
    assert max(batch.sizes) > 12 and right(model, z, batch).all()
    decoded = model.decode(z, LIMIT)
    assert torch.equal(decoded.sizes, batch.sizes) and not decoded.truncated.any()
    assert decoded.stop_probability.argmax(1).equal(batch.sizes - 1)
    present = torch.arange(decoded.balls.shape[1]) < batch.sizes[:, None]
    assert decoded.balls[~present].eq(0).all()


def test_descent_also_repairs_numbers_of_twins(twins: list[HyperballCloud]) -> None:
    batch = Sequences(twins)[list(range(40, 60))]
    scores = []
    for descent in (0, 500):
        model = sharing(twins, latent_dim=7, descent=descent)
        z = code(model, batch)
        scores.append((right(model, z, batch).mean(), (model.decode(z, LIMIT).sizes == batch.sizes).float().mean()))
    (before, sizes_before), (after, sizes_after) = scores
    assert after > before + 0.2 and sizes_after > sizes_before


def test_more_nodes_than_the_limit_are_cut(twins: list[HyperballCloud]) -> None:
    model, batch = sharing(twins), Sequences(twins)[list(range(40, 60))]
    z = code(model, batch)
    whole, cut = model.decode(z, LIMIT), model.decode(z, 9)
    assert torch.equal(cut.sizes, batch.sizes.clamp(max=9)) and torch.equal(cut.truncated, batch.sizes > 9)
    assert torch.equal(cut.balls, whole.balls[:, :9].where(torch.arange(9)[:, None] < cut.sizes[:, None, None], 0))
    z[:, 0] = 100  # slots
    assert model.decode(z, LIMIT).truncated.all()
    assert model.decode(z[:0], LIMIT).sizes.tolist() == []


@pytest.mark.parametrize("shared", [False, True])
def test_a_z_beyond_all_numbers_still_decodes(shared: bool, twins: list[HyperballCloud]) -> None:
    """Where balls overflow, what comes back has sizes that are sizes."""
    model = sharing(twins) if shared else ParallelAutoencoder(D, slots=25, latent_dim=12, descent=0, shared=False)
    if not shared:
        model.fit([cloud.balls for cloud in twins[:40]])
    model.scale[1:] = 100  # beyond the largest number, and ∞ - ∞ is none
    z = torch.from_numpy(np.random.default_rng(0).choice([-3e38, 0, 1e20, 3e38], (30, 12)).astype(np.float32))
    z[:, 0] = torch.tensor([1, 3, 1e38]).repeat(10)
    assert LinearAutoencoder.decode(model, z, LIMIT).balls.isnan().any()
    decoded = model.decode(z, LIMIT)
    assert decoded.sizes.min() >= 1 and decoded.sizes.max() <= LIMIT
    assert decoded.balls.shape[1] == decoded.sizes.max() and decoded.truncated[2::3].all()


# -- decoding ---


def test_decoding_needs_z_and_nothing_else(model: ParallelAutoencoder, batch: Batch, tmp_path: Path) -> None:
    """Another model with the same weights, which never saw a graph and may not take a step, decodes the same."""
    z = code(model, batch)
    save_checkpoint(tmp_path / "model.safetensors", model.state_dict(), {})
    other = LinearAutoencoder(D, slots=28, latent_dim=M)
    other.load_state_dict(load_checkpoint(tmp_path / "model.safetensors")[0])
    assert read_back(other, z) == read_back(model, z)


def test_what_settled_survives_rounding(model: ParallelAutoencoder, batch: Batch) -> None:
    z = code(model, batch)
    good = right(model, z, batch)
    noise = 1e-4 * torch.from_numpy(np.random.default_rng(0).normal(size=z.shape)).float()
    noise[:, 0] = 0.4
    assert right(model, z + noise, batch)[good].all()


WRONG = [(torch.zeros(2, M - 1), "decodes rows of 36 numbers"), (torch.full((1, M), torch.nan), "z has 36 values")]


@pytest.mark.parametrize(("z", "said"), WRONG)
def test_what_no_z_is(model: ParallelAutoencoder, z: Tensor, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        model.decode(z, LIMIT)
