"""The network of the autoregressive prior: one pass gives the distribution of every number given those before it.

Hidden units have a place in the order of numbers: ``units`` of them see the numbers before number 0, 1, …, and units of
no later place (MADE, Germain et al. 2015), in residual blocks. When numbers are drawn one after the other, a step
computes the units of one place only, so that drawing a vector costs no more than one pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn

EASE = 1e-3  # added to mean squares before their root
BLOCKS = 8  # of the rows of a masked map


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
        self.numbers = Masked(self.earlier.T.contiguous(), m)
        self.given = nn.Linear(given, width, bias=False) if given else None
        up_to = (place[:, None] >= place).float()  # (width, width)
        self.blocks = nn.ModuleList(
            nn.ModuleList([Masked(up_to, m), Masked(up_to, m, zero=True)]) for _ in range(blocks)
        )
        own = torch.arange(m).repeat_interleave(bins)
        self.out = Masked((own[:, None] >= place).float(), m, zero=True)

    def forward(self, bins: Tensor, numbers: Tensor, given: Tensor | None = None) -> Tensor:
        table = (self.embedding * self.earlier[:, None]).flatten(0, 1)
        hidden = nn.functional.embedding_bag(bins + self.offsets, table, mode="sum") + self.numbers(numbers)
        if self.given is not None and given is not None:
            hidden = hidden + self.given(given)
        for first, second in cast(Iterable[tuple[Masked, Masked]], self.blocks):
            hidden = hidden + second(nn.functional.silu(first(self._normed(hidden))))
        return self.out(self._normed(hidden)).unflatten(1, (self.m, self.bins))

    def _normed(self, hidden: Tensor) -> Tensor:
        """Divided by the root mean square of the units of no later place."""
        own = hidden.unflatten(1, (self.m, self.units))
        count = torch.arange(1, self.m + 1, device=hidden.device)
        squares = own.square().mean(2).cumsum(1) / count
        return (own / (squares[..., None] + EASE).sqrt()).flatten(1)


class Masked(nn.Module):
    """A linear map whose weights are zero where the mask (out, in) is.

    The rows of ``places`` places come place by place, and those of later places see more inputs: weights are kept in
    blocks of some places, each as wide as its rows see, since nearly half of the products would be with zeros.
    """

    def __init__(self, mask: Tensor, places: int, *, zero: bool = False) -> None:
        super().__init__()
        self.rows = len(mask) // places  # of a place
        self.block = -(-places // BLOCKS)  # places of a block
        self.weights, self.masks, self.biases = nn.ParameterList(), list[Tensor](), nn.ParameterList()
        for rows in mask.split(self.block * self.rows):
            seen = int(rows.any(0).nonzero().max()) + 1 if rows.any() else 0
            self.masks.append(rows[:, :seen])
            scale = rows.sum(1, keepdim=True).clamp(min=1).sqrt()
            self.weights.append((0.0 if zero else 1.0) * torch.randn(len(rows), seen) * rows[:, :seen] / scale)
            self.biases.append(torch.zeros(len(rows)))

    def forward(self, x: Tensor) -> Tensor:
        parts = zip(self.weights, self.masks, self.biases, strict=True)
        return torch.cat([nn.functional.linear(x[:, : w.shape[1]], w * mask, bias) for w, mask, bias in parts], dim=1)

    def place(self, x: Tensor, place: int, seen: int) -> Tensor:
        """The rows of one place, which see the first ``seen`` inputs only."""
        block, at = divmod(place, self.block)
        rows = slice(at * self.rows, (at + 1) * self.rows)
        return nn.functional.linear(x[:, :seen], self.weights[block][rows, :seen], self.biases[block][rows])

    def column(self, number: int, later: int) -> Tensor:
        """The weights of one input for all rows from ``later`` on."""
        whole = [w[:, number] if number < w.shape[1] else w.new_zeros(len(w)) for w in self.weights]
        return torch.cat(whole)[later:]

    def bias(self) -> Tensor:
        return torch.cat(list(self.biases))


class Stepper:
    """The network one number at a time, for ``count`` vectors: logits of number i, then its value is given."""

    def __init__(self, network: MaskedNetwork, count: int, given: Tensor | None = None) -> None:
        self.network, self.at = network, 0
        width = network.m * network.units
        self.start = network.numbers.bias().expand(count, width).clone()  # sums of what the numbers so far contribute
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
        for layer, (first, second) in enumerate(cast(Iterable[tuple[Masked, Masked]], network.blocks)):
            self._norm(layer, hidden, begin, end)
            self.inner[layer][:, begin:end] = nn.functional.silu(first.place(self.normed[layer], self.at, end))
            hidden = hidden + second.place(self.inner[layer], self.at, end)
        self._norm(len(network.blocks), hidden, begin, end)
        return network.out.place(self.normed[-1], self.at, end)

    def append(self, bins: Tensor, numbers: Tensor) -> None:
        """The next number (count,) and its bin."""
        network, later = self.network, (self.at + 1) * self.network.units
        self.start[:, later:] += network.embedding[self.at, :, later:][bins]
        self.start[:, later:] += numbers[:, None] * network.numbers.column(self.at, later)
        self.at += 1

    def _norm(self, layer: int, hidden: Tensor, begin: int, end: int) -> None:
        self.squares[layer] = self.squares[layer] + hidden.square().mean(1)
        root = (self.squares[layer] / (self.at + 1) + EASE).sqrt()
        self.normed[layer][:, begin:end] = hidden / root[:, None]
