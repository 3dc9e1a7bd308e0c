"""The training objective of ``sequential``: L_total of a batch, and its parts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from geogae.autoencoders.transformer.losses import FEATURE_WEIGHT, beta, total_loss
from geogae.autoencoders.transformer.sequences import Batch
from geogae.training.loop import Average


def sequential_objective(
    model: nn.Module,
    batch: Batch,
    epoch: float,
    generator: torch.Generator,
    average: Average,
    *,
    kl_weight: float,
    kl_epochs: float,
    rho: float,
    dim: int | None = None,
    feature_weight: float = FEATURE_WEIGHT,
    node_categories: Sequence[int] = (),
    edge_categories: Sequence[int] = (),
) -> dict[str, Tensor]:
    """L_total of a batch through the stacked passes (Section 3.6), and its parts.

    ``node_categories`` and ``edge_categories`` are the widths of the categorical columns of the batch's attributes.
    """
    out = model(batch.balls, batch.sizes, generator, batch.attributes)
    return total_loss(
        out.balls,
        out.stop_logits,
        batch.balls,
        batch.adjacency,
        batch.sizes,
        mu=out.mu,
        log_var=out.log_var,
        kl_weight=beta(epoch, kl_weight, kl_epochs),
        rho=rho,
        dim=dim,
        average=average,
        node_features=out.node_features,
        edge_features=out.edge_features,
        attributes=batch.attributes,
        node_categories=node_categories,
        edge_categories=edge_categories,
        feature_weight=feature_weight,
    )
