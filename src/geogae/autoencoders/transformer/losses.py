"""Every term of the total loss, by the paper's name (Appendix B.4).

Shapes: K decoder passes, B graphs padded to n nodes, balls of d numbers. A term is averaged over the nodes or pairs
of each graph and over the K passes, (B,); ``total_loss`` then averages over graphs. Everything is computed in float32.
Features have categorical columns first, as logits against one-hot rows, of the widths ``categories``; then numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from geogae.autoencoders.transformer.features import Features
from geogae.geometry.differentiable import focal, margins

TEMPERATURE = 0.4  # T, Section 4.1
FEATURE_DELTA = 1.0  # of H_1, the Huber loss of attributes

# The paper names the following but gives no values.
ALPHA = 0.75  # weight of joined pairs in L_geo; of the others 1 - α
ETA = 0.9  # weight of the last node in L_stop, one in n; of the others 1 - η
GAMMA = 2.0  # focusing parameter of both
DELTA = 1.0  # where the Huber loss of balls turns linear; the paper's own choice for attributes
RHO = 1.0  # static weight of L_geo
FEATURE_WEIGHT = 1.0  # λ_feat
CAP = 10.0  # largest factor of the per-batch rescaling
BETA_TARGET, BETA_EPOCHS = 1e-3, 10.0  # β(t) climbs to the target over the first epochs


def loss_geo(
    balls: Tensor,
    adjacency: Tensor,
    sizes: Tensor,
    *,
    temperature: float = TEMPERATURE,
    alpha: float = ALPHA,
    gamma: float = GAMMA,
) -> Tensor:
    """L_geo, (B,): focal loss of the margins of balls (K, B, n, d) against ``adjacency`` (B, n, n); pairs i < j."""
    node = _present(sizes, balls.shape[-2])  # (B, n)
    pair = (node[:, :, None] & node[:, None]).triu(1)  # (B, n, n)
    loss = focal(margins(balls.float()) / temperature, adjacency, alpha, gamma)  # (K, B, n, n)
    pairs = pair.sum((-2, -1)).clamp(min=1)  # (B,), a graph of one node has none and its loss is 0
    return ((loss * pair).sum((-2, -1)) / pairs).mean(0)


def loss_emb(predicted: Tensor, balls: Tensor, sizes: Tensor, *, delta: float = DELTA) -> Tensor:
    """L_emb, (B,): Huber loss of the balls (K, B, n, d) against the truth (B, n, d), summed over coordinates."""
    huber = F.huber_loss(predicted.float(), balls.float().expand_as(predicted), reduction="none", delta=delta)
    return (huber.sum(-1) * _present(sizes, balls.shape[-2])).sum(-1).div(sizes).mean(0)


def loss_stop(stop_logits: Tensor, sizes: Tensor, *, eta: float = ETA, gamma: float = GAMMA) -> Tensor:
    """L_stop, (B,): focal loss of the stop logits (K, B, n); of a graph's n slots the last is the one that stops."""
    slot = torch.arange(1, stop_logits.shape[-1] + 1, device=sizes.device)  # (n,), counted from 1
    loss = focal(stop_logits.float(), slot >= sizes[:, None], eta, gamma)  # (K, B, n)
    return (loss * _present(sizes, stop_logits.shape[-1])).sum(-1).div(sizes).mean(0)


def loss_kl(mu: Tensor, log_var: Tensor) -> Tensor:
    """L_KL, (B,): KL(N(μ, σ²) ‖ N(0, 1)), summed over the m coordinates."""
    mu, log_var = mu.float(), log_var.float()
    return 0.5 * (mu.square() + log_var.exp() - 1 - log_var).sum(-1)


def loss_nfeat(predicted: Tensor, features: Tensor, sizes: Tensor, categories: Sequence[int] = ()) -> Tensor:
    """L_nfeat, (B,): of node features (K, B, n, w) against the truth (B, n, w); summed over passes, as in L_total."""
    loss = _features(predicted, features.expand_as(predicted), categories)  # (K, B, n)
    return (loss * _present(sizes, features.shape[-2])).sum(-1).div(sizes).sum(0)


def loss_efeat(
    predicted: Tensor, features: Tensor, graph: Tensor, graphs: int, categories: Sequence[int] = ()
) -> Tensor:
    """L_efeat, (B,): of edge features (M, w) against the truth, edges being of ``graph`` (M,); 0 without edges."""
    loss = _features(predicted, features, categories)  # (M,)
    number = loss.new_zeros(graphs).index_add(0, graph, torch.ones_like(loss))
    return loss.new_zeros(graphs).index_add(0, graph, loss) / number.clamp(min=1)


def _features(predicted: Tensor, features: Tensor, categories: Sequence[int]) -> Tensor:
    """H_1 summed over the continuous columns plus cross-entropy summed over the categorical ones, (…,)."""
    widths = [*categories, features.shape[-1] - sum(categories)]
    *logits, numbers = predicted.float().split(widths, dim=-1)
    *hot, truth = features.float().split(widths, dim=-1)
    loss = F.huber_loss(numbers, truth, reduction="none", delta=FEATURE_DELTA).sum(-1)
    for column, category in zip(logits, hot, strict=True):
        loss = loss - (category * column.log_softmax(-1)).sum(-1)
    return loss


def beta(epoch: float, target: float = BETA_TARGET, epochs: float = BETA_EPOCHS) -> float:
    """β(t): the weight of L_KL, from 0 to ``target`` in a straight line over the first ``epochs``."""
    return target * min(1.0, epoch / epochs) if epochs > 0 else target


def rescaled(losses: Tensor, cap: float = CAP, average: Callable[[Tensor], Tensor] = Tensor.abs) -> Tensor:
    """Losses (P,), each scaled to their mean magnitude, by at most ``cap``; the factors have no gradient.

    ``average`` gives the magnitudes of the whole batch where several processes hold parts of it.
    """
    magnitude = average(losses.detach()).abs()
    return losses * (magnitude.mean() / magnitude.clamp(min=torch.finfo(losses.dtype).tiny)).clamp(max=cap)


def total_loss(
    predicted: Tensor,
    stop_logits: Tensor,
    balls: Tensor,
    adjacency: Tensor,
    sizes: Tensor,
    *,
    mu: Tensor | None = None,
    log_var: Tensor | None = None,
    kl_weight: float = 0.0,
    rho: float = RHO,
    dim: int | None = None,
    cap: float = CAP,
    average: Callable[[Tensor], Tensor] = Tensor.abs,
    node_features: Tensor | None = None,
    edge_features: Tensor | None = None,
    attributes: Features | None = None,
    node_categories: Sequence[int] = (),
    edge_categories: Sequence[int] = (),
    feature_weight: float = FEATURE_WEIGHT,
) -> dict[str, Tensor]:
    """L_total of a batch as ``total``, and its parts as they are before rescaling and weights.

    ``predicted`` (K, B, n, d) and ``stop_logits`` (K, B, n) are the decoder's; ``balls`` (B, n, d), ``adjacency``
    (B, n, n) and ``sizes`` (B,) the truth; the first ``dim`` numbers of a ball are its geometry, all if not given.
    ``mu`` and ``log_var`` (B, m) are the variational latent's, with kl_weight β(t). ``node_features``
    (K, B, n, w_node) and ``edge_features`` (M, w_edge) are the decoder's, ``attributes`` the truth; feature_weight is
    λ_feat. Only the topological losses are rescaled.
    """
    with torch.autocast(balls.device.type, enabled=False):
        parts = {
            "emb": loss_emb(predicted, balls, sizes).mean(),
            "geo": loss_geo(predicted[..., :dim], adjacency, sizes).mean(),
            "stop": loss_stop(stop_logits, sizes).mean(),
        }
        emb, geo, stop = rescaled(torch.stack(list(parts.values())), cap, average)
        total = emb + rho * geo + stop
        if mu is not None and log_var is not None:
            parts["kl"] = loss_kl(mu, log_var).mean()
            total = total + kl_weight * parts["kl"]
        if attributes is not None and node_features is not None:
            parts["nfeat"] = loss_nfeat(node_features, attributes.nodes, sizes, node_categories).mean()
            total = total + feature_weight * parts["nfeat"]
        if attributes is not None and edge_features is not None:
            truth, graph = attributes.edge_features, attributes.edges[:, 0]
            parts["efeat"] = loss_efeat(edge_features, truth, graph, len(sizes), edge_categories).mean()
            total = total + feature_weight * parts["efeat"]
        return {"total": total} | {name: part.detach() for name, part in parts.items()}


def _present(sizes: Tensor, n: int) -> Tensor:
    return torch.arange(n, device=sizes.device) < sizes[:, None]  # (B, n)
