"""The z that settles: what is right stays, what can be repaired is, the decoder is the linear one and sees z alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geogae import datasets
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import HyperballCloud
from geogae.geometry.fitting import fit_clouds
from geogae.model.linear import BLOCK, LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder
from geogae.training.batches import Batch, Sequences
from geogae.training.checkpoint import load_checkpoint, save_checkpoint

D, M = 3, 36  # 35 numbers for clouds of up to 84


@pytest.fixture(scope="module")
def clouds() -> list[HyperballCloud]:
    return fit_clouds(datasets.load("MUTAG")[:70], D, order="axis")


@pytest.fixture(scope="module")
def batch(clouds: list[HyperballCloud]) -> Batch:
    """Graphs that the model has not seen."""
    return Sequences(clouds)[list(range(50, 70))]


def fitted(clouds: list[HyperballCloud], latent_dim: int = M, descent: int = 500) -> ParallelAutoencoder:
    model = ParallelAutoencoder(D, slots=28, latent_dim=latent_dim, descent=descent)
    model.fit([cloud.balls for cloud in clouds[:50]])
    return model


@pytest.fixture(scope="module")
def model(clouds: list[HyperballCloud]) -> ParallelAutoencoder:
    return fitted(clouds)


def read_back(model: LinearAutoencoder, z: Tensor) -> list[list[list[int]]]:
    """The edges of each decoded graph."""
    decoded = model.decode(z, model.slots)
    clouds = (
        HyperballCloud(balls[:n, :-1], balls[:n, -1], np.arange(n))
        for balls, n in zip(decoded.balls.numpy(), decoded.sizes.tolist(), strict=True)
    )
    return [cloud.to_graph().edges.tolist() for cloud in clouds]


def right(model: LinearAutoencoder, z: Tensor, batch: Batch) -> np.ndarray:
    true = [np.argwhere(np.triu(joined)).tolist() for joined in batch.adjacency.numpy()]
    return np.array([one == two for one, two in zip(read_back(model, z), true, strict=True)])


# -- settling ---


def test_what_is_right_stays_and_what_is_not_is_mostly_repaired(model: ParallelAutoencoder, batch: Batch) -> None:
    z = model.encode(batch.balls, batch.sizes)
    settled = model.settle(z, batch.sizes, batch.adjacency)
    before, after = right(model, z, batch), right(model, settled, batch)
    moved = (settled != z).any(1).numpy()
    assert 3 <= before.sum() <= 15 and after.sum() >= 18
    assert not (before & ~after).any() and (moved | before)[after].all()
    assert torch.equal(settled[:, 0], z[:, 0])
    assert (~moved).any() and settled.dtype == z.dtype and settled.isfinite().all()


def test_the_more_steps_the_more_graphs(clouds: list[HyperballCloud], batch: Batch) -> None:
    counts = []
    for descent in (0, 5, 50, 500):
        model = fitted(clouds, latent_dim=24, descent=descent)
        z = model.settle(model.encode(batch.balls, batch.sizes), batch.sizes, batch.adjacency)
        counts.append(int(right(model, z, batch).sum()))
    assert counts == sorted(counts) and counts[-1] > counts[0] + 3


def test_without_descent_it_is_the_linear_one(clouds: list[HyperballCloud], batch: Batch) -> None:
    still, linear = fitted(clouds, descent=0), LinearAutoencoder(D, slots=28, latent_dim=M)
    linear.fit([cloud.balls for cloud in clouds[:50]])
    z = still.encode(batch.balls, batch.sizes)
    assert torch.equal(z, linear.encode(batch.balls, batch.sizes))
    assert torch.equal(still.settle(z, batch.sizes, batch.adjacency), z)
    assert torch.equal(still.decode(z, 28).balls, linear.decode(z, 28).balls)
    assert still.state_dict().keys() == linear.state_dict().keys() and not list(still.parameters())


def test_a_z_from_anywhere_settles(model: ParallelAutoencoder, batch: Batch) -> None:
    """Not only the linear one: the mean cloud is a start as well."""
    z = torch.zeros(20, M)
    z[:, 0] = batch.sizes
    settled = model.settle(z, batch.sizes, batch.adjacency)
    assert right(model, z, batch).sum() == 0 < right(model, settled, batch).sum()


def test_numbers_without_an_axis_stay_zero(clouds: list[HyperballCloud], batch: Batch) -> None:
    wide = fitted(clouds, latent_dim=28 * D + 20)
    z = wide.settle(wide.encode(batch.balls, batch.sizes), batch.sizes, batch.adjacency)
    assert not z[:, 28 * D + 1 :].any() and right(wide, z, batch).all()


def test_single_nodes_and_nothing_at_all(model: ParallelAutoencoder) -> None:
    z = model.encode(torch.ones(2, 1, D), torch.ones(2, dtype=torch.long))
    joined = torch.zeros(2, 1, 1, dtype=torch.bool)
    assert torch.equal(model.settle(z, torch.ones(2, dtype=torch.long), joined), z)
    assert read_back(model, z) == [[], []]
    none = model.encode(torch.zeros(0, 5, D), torch.zeros(0, dtype=torch.long))
    assert none.shape == (0, M)
    assert model.settle(none, torch.zeros(0, dtype=torch.long), torch.zeros(0, 5, 5, dtype=torch.bool)).shape == (0, M)


# -- each graph by itself ---


def test_batched_is_single_to_the_last_bit(model: ParallelAutoencoder, clouds: list[HyperballCloud]) -> None:
    sequences = Sequences(clouds)
    sizes = {cloud.n for cloud in clouds}
    assert min(sizes) < BLOCK < max(sizes) and len(sizes) > 8

    def code(chosen: list[int]) -> Tensor:
        batch = sequences[chosen]
        return model.settle(model.encode(batch.balls, batch.sizes), batch.sizes, batch.adjacency)

    together = code(list(range(70)))
    assert torch.equal(torch.cat([code([graph]) for graph in range(70)]), together)
    order = np.random.default_rng(0).permutation(70).tolist()
    assert torch.equal(torch.cat([code(order[:23]), code(order[23:])]), together[order])


def test_padding_is_not_read(model: ParallelAutoencoder, batch: Batch) -> None:
    z = model.encode(batch.balls, batch.sizes)
    beyond = torch.arange(batch.balls.shape[1]) >= batch.sizes[:, None]
    joined = batch.adjacency | beyond[:, :, None] | beyond[:, None]
    assert torch.equal(model.settle(z, batch.sizes, joined), model.settle(z, batch.sizes, batch.adjacency))
    balls = batch.balls.masked_fill(beyond[..., None], float("nan"))
    assert torch.equal(model.encode(balls, batch.sizes), z)


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


# -- decoding ---


def test_decoding_needs_z_and_nothing_else(model: ParallelAutoencoder, batch: Batch, tmp_path: Path) -> None:
    """Another model with the same weights, which never saw a graph and may not take a step, decodes the same."""
    z = model.settle(model.encode(batch.balls, batch.sizes), batch.sizes, batch.adjacency)
    save_checkpoint(tmp_path / "model.safetensors", model.state_dict(), {})
    other = LinearAutoencoder(D, slots=28, latent_dim=M)
    other.load_state_dict(load_checkpoint(tmp_path / "model.safetensors")[0])
    assert read_back(other, z) == read_back(model, z)
    assert torch.equal(other.decode(z, 28).sizes, batch.sizes)


def test_what_settled_survives_rounding(model: ParallelAutoencoder, batch: Batch) -> None:
    """In float16 z has three digits less."""
    z = model.settle(model.encode(batch.balls, batch.sizes), batch.sizes, batch.adjacency)
    good = right(model, z, batch)
    assert right(model, z * (1 + 1e-5), batch)[good].all()


@pytest.mark.parametrize(("z", "said"), [(torch.zeros(2, M - 1), "decodes rows of 36"), (torch.full((1, M), torch.nan), "36 values")])  # fmt: skip
def test_what_no_z_is(model: ParallelAutoencoder, z: Tensor, said: str) -> None:
    with pytest.raises(GeoGAEError, match=said):
        model.decode(z, 28)
