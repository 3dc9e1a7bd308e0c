"""The network of the autoregressive prior: one pass gives the distribution of every number given those before it.

Hidden units have a place in the order of numbers: ``units`` of them see the numbers before number 0, 1, …, and units of
no later place (MADE, Germain et al. 2015), in residual blocks. When numbers are drawn one after the other, a step
computes the units of one place only, so that drawing a vector costs no more than one pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

EASE = 1e-3  # added to mean squares before their root


class MaskedNetwork(nn.Module):
    """Logits (B, m, bins) of every number, from the ``bins`` (B, m), ``numbers`` (B, m) and ``given`` (B, c)."""

    def __init__(self, m: int, bins: int, given: int = 0, *, units: int = 12, blocks: int = 3) -> None:
        super().__init__()
        self.m, self.bins, self.units = m, bins, units
        width = m * units
        place = torch.arange(m).repeat_interleave(units)  # (width,), of each unit
        self.earlier: Tensor
        self.offsets: Tensor
        self.register_buffer("earlier", (torch.arange(m)[:, None] < place).float(), persistent=False)  # (m, width)
        self.register_buffer("offsets", torch.arange(m) * bins, persistent=False)
        self.embedding = nn.Parameter(torch.randn(m, bins, width) * 0.08)
        self.numbers = Masked(self.earlier.T.contiguous())
        self.given = nn.Linear(given, width, bias=False) if given else None
        up_to = (place[:, None] >= place).float()  # (width, width)
        self.blocks = nn.ModuleList(nn.ModuleList([Masked(up_to), Masked(up_to, zero=True)]) for _ in range(blocks))
        own = torch.arange(m).repeat_interleave(bins)
        self.out = Masked((own[:, None] >= place).float(), zero=True)

    def forward(self, bins: Tensor, numbers: Tensor, given: Tensor | None = None) -> Tensor:
        table = (self.embedding * self.earlier[:, None]).flatten(0, 1)
        hidden = nn.functional.embedding_bag(bins + self.offsets, table, mode="sum") + self.numbers(numbers)
        if self.given is not None and given is not None:
            hidden = hidden + self.given(given)
        for first, second in self.blocks:  # type: ignore[misc]
            hidden = hidden + second(nn.functional.silu(first(self._normed(hidden))))
        return self.out(self._normed(hidden)).unflatten(1, (self.m, self.bins))

    def _normed(self, hidden: Tensor) -> Tensor:
        """Divided by the root mean square of the units of no later place."""
        own = hidden.unflatten(1, (self.m, self.units))
        count = torch.arange(1, self.m + 1, device=hidden.device)
        squares = own.square().mean(2).cumsum(1) / count
        return (own / (squares[..., None] + EASE).sqrt()).flatten(1)


class Masked(nn.Module):
    """A linear map whose weights are zero where the mask (out, in) is."""

    def __init__(self, mask: Tensor, *, zero: bool = False) -> None:
        super().__init__()
        self.mask: Tensor
        self.register_buffer("mask", mask, persistent=False)
        scale = 0.0 if zero else 1.0
        self.weight = nn.Parameter(
            scale * torch.randn(mask.shape) * mask / mask.sum(1, keepdim=True).clamp(min=1).sqrt()
        )
        self.bias = nn.Parameter(torch.zeros(len(mask)))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


class Stepper:
    """The network one number at a time, for ``count`` vectors: logits of number i, then its value is told."""

    def __init__(self, network: MaskedNetwork, count: int, given: Tensor | None = None) -> None:
        self.network, self.at = network, 0
        width = network.m * network.units
        self.start = network.numbers.bias.expand(count, width).clone()  # sums of what the numbers so far contribute
        if network.given is not None and given is not None:
            self.start += network.given(given)
        layers = len(network.blocks) + 1
        self.normed = [torch.zeros(count, width) for _ in range(layers)]  # inputs of each block, and of the output
        self.inner = [torch.zeros(count, width) for _ in range(layers - 1)]
        self.squares = [torch.zeros(count) for _ in range(layers)]  # sums of mean squares of the places so far

    def logits(self) -> Tensor:
        """Of the next number, (count, bins)."""
        network, begin = self.network, self.at * self.network.units
        end = begin + network.units
        hidden = self.start[:, begin:end].clone()
        for layer, (first, second) in enumerate(network.blocks):  # type: ignore[misc]
            self._norm(layer, hidden, begin, end)
            self.inner[layer][:, begin:end] = nn.functional.silu(_rows(first, self.normed[layer], begin, end, end))
            hidden = hidden + _rows(second, self.inner[layer], begin, end, end)
        self._norm(len(network.blocks), hidden, begin, end)
        own = self.at * network.bins
        return _rows(network.out, self.normed[-1], own, own + network.bins, end)

    def tell(self, bins: Tensor, numbers: Tensor) -> None:
        """The next number (count,) and its bin."""
        network, later = self.network, (self.at + 1) * self.network.units
        self.start[:, later:] += network.embedding[self.at, :, later:][bins]
        self.start[:, later:] += numbers[:, None] * network.numbers.weight[later:, self.at]
        self.at += 1

    def _norm(self, layer: int, hidden: Tensor, begin: int, end: int) -> None:
        self.squares[layer] = self.squares[layer] + hidden.square().mean(1)
        root = (self.squares[layer] / (self.at + 1) + EASE).sqrt()
        self.normed[layer][:, begin:end] = hidden / root[:, None]


def _rows(layer: Any, x: Tensor, begin: int, end: int, seen: int) -> Tensor:
    """Some rows of a masked map, which see the first ``seen`` inputs only."""
    return nn.functional.linear(x[:, :seen], layer.weight[begin:end, :seen], layer.bias[begin:end])
