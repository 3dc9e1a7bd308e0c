"""z refined at encoding time: descent through the decoder, from the z that the encoder gives."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from geogae.autoencoders.transformer.losses import loss_efeat, loss_emb, loss_geo, loss_nfeat, loss_stop
from geogae.autoencoders.transformer.network import SequentialNetwork
from geogae.autoencoders.transformer.sequences import Batch

RATE = 0.02  # Adam's step, against coordinates of z that are about 1
GEO = 10.0  # weight of L_geo: what is wrong in the end are edges


def refine(
    network: SequentialNetwork,
    z: Tensor,
    batch: Batch,
    steps: int,
    *,
    dim: int | None = None,
    node_categories: Sequence[int] = (),
    edge_categories: Sequence[int] = (),
) -> Tensor:
    """z (B, m) after ``steps`` of Adam on the topological losses of the K passes and those of decoded attributes.

    The losses of graphs are summed, so the z of one does not depend on the others.
    """
    with torch.enable_grad():
        z = z.clone().requires_grad_()
        for parameter in network.parameters():
            parameter.requires_grad_(False)
        try:
            optimizer = torch.optim.Adam([z], lr=RATE)
            for step in range(steps):
                optimizer.param_groups[0]["lr"] = RATE * (1 - step / steps)
                out = network.unrolled(z, batch.balls, batch.sizes, batch.attributes)
                loss = loss_emb(out.balls, batch.balls, batch.sizes) + loss_stop(out.stop_logits, batch.sizes)
                loss = loss + GEO * loss_geo(out.balls[..., :dim], batch.adjacency, batch.sizes)  # (B,)
                if batch.attributes is not None and out.node_features is not None:
                    loss = loss + loss_nfeat(out.node_features, batch.attributes.nodes, batch.sizes, node_categories)
                if batch.attributes is not None and out.edge_features is not None:
                    truth, graph = batch.attributes.edge_features, batch.attributes.edges[:, 0]
                    loss = loss + loss_efeat(out.edge_features, truth, graph, len(z), edge_categories)
                optimizer.zero_grad(set_to_none=True)
                loss.sum().backward()
                optimizer.step()
        finally:
            for parameter in network.parameters():
                parameter.requires_grad_(True)
        return z.detach()
