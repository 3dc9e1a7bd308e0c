"""Muon: orthogonalised steps of matrices, AdamW's of all else, and a state that is saved and loaded."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from geogae.training.loop import deterministic
from geogae.training.optimizer import ADAMW_RMS, ITERATIONS, MOMENTUM, NEWTON_SCHULZ, Muon, orthogonalised


def published(matrix: Tensor) -> Tensor:
    """The iteration as it is written in the publication, on the whole matrix."""
    a, b, c = NEWTON_SCHULZ
    x = matrix / matrix.norm()
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


@pytest.mark.parametrize("shape", [(64, 64), (64, 256), (256, 64), (32, 40)])
def test_the_iteration_on_the_gram_matrix_is_the_published_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    wide = matrix if shape[0] <= shape[1] else matrix.T
    expected = published(wide) if wide is matrix else published(wide).T
    assert torch.allclose(orthogonalised(matrix), expected, atol=2e-4)


def test_singular_values_become_alike_and_singular_vectors_stay() -> None:
    generator = torch.Generator().manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(48, 48, generator=generator))[0] for _ in range(2))
    values = torch.logspace(0, -1.5, 48)
    changed = left.T @ orthogonalised(left @ torch.diag(values) @ right.T) @ right
    diagonal = changed.diagonal()
    assert 0.6 < float(diagonal.min()) <= float(diagonal.max()) < 1.3
    assert float((changed - torch.diag(diagonal)).abs().max()) < 1e-3


def network() -> nn.Sequential:
    with deterministic(0):
        return nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))


def stepped(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        x = torch.randn(8, 4, generator=generator)
        optimizer.zero_grad()
        (model(x) - x[:, :2] * x[:, 2:]).square().mean().backward()
        optimizer.step()


def test_only_large_matrices_leave_adamw() -> None:
    ours, plain = network(), network()
    stepped(ours, Muon(ours.parameters(), lr=1e-2), 1)
    stepped(plain, torch.optim.AdamW(plain.parameters(), lr=1e-2), 1)
    for (name, one), other in zip(ours.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other) != (name == "2.weight")


def test_the_first_step_of_a_matrix_by_hand() -> None:
    model, lr = network(), 1e-2
    before, optimizer = model[2].weight.detach().clone(), Muon(model.parameters(), lr=lr, weight_decay=0.5)
    model(torch.randn(64, 4, generator=torch.Generator().manual_seed(0))).square().mean().backward()
    gradient = model[2].weight.grad
    assert gradient is not None
    update = orthogonalised((1 + MOMENTUM) * gradient)
    optimizer.step()
    expected = before * (1 - lr * 0.5) - lr * ADAMW_RMS * math.sqrt(32) * update
    assert torch.allclose(model[2].weight, expected, atol=1e-5)


def test_a_loaded_state_goes_the_same_way() -> None:
    whole, first, second = network(), network(), network()
    optimizers = [Muon(model.parameters(), lr=1e-2, fused=True) for model in (whole, first, second)]
    stepped(whole, optimizers[0], 3, seed=0)
    stepped(whole, optimizers[0], 3, seed=1)
    stepped(first, optimizers[1], 3, seed=0)
    second.load_state_dict(first.state_dict())
    optimizers[2].load_state_dict(optimizers[1].state_dict())
    stepped(second, optimizers[2], 3, seed=1)
    for one, other in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
