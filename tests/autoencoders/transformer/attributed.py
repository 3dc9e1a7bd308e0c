"""Small models and batches with node and edge attributes, for tests."""

import torch

from geogae.autoencoders.transformer.attention import rotate
from geogae.autoencoders.transformer.features import Features
from geogae.autoencoders.transformer.network import SequentialNetwork

D, NODE, EDGE = 3, 4, 2


def small(seed=0, noise=0.0, **how):
    """A small model; with ``noise`` its corrections are not zero any more."""
    torch.manual_seed(seed)
    shape = {"token_dim": 16, "latent_tokens": 3, "encoder_layers": 3, "encoder_hidden": 32, "encoder_heads": 4}
    shape |= {"decoder_layers": 2, "decoder_hidden": 32, "decoder_heads": 2}
    shape |= {"node_features": NODE, "edge_features": EDGE, "decodes_features": True}
    model = SequentialNetwork(D, **(shape | how)).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "correction" in name:
                weights += noise * torch.randn(weights.shape, generator=torch.Generator().manual_seed(7))
    return model


def dressed(sizes, seed=0, node=NODE, edge=EDGE, share=0.5):
    """Random balls and attributes; each pair of nodes is an edge with probability ``share``."""
    random = torch.Generator().manual_seed(seed)
    balls = 1.5 * torch.randn(len(sizes), max(sizes), D, generator=random)
    nodes = torch.randn(len(sizes), max(sizes), node, generator=random)
    pairs = [(g, i, j) for g, n in enumerate(sizes) for i in range(n) for j in range(i + 1, n)]
    pairs = [
        pair for pair, p in zip(pairs, torch.rand(len(pairs), generator=random).tolist(), strict=True) if p < share
    ]
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 3)
    features = torch.randn(len(edges), edge, generator=random)
    return balls, torch.tensor(sizes), Features(nodes, edges, features)


def alone(balls, sizes, attributes, graph):
    """One graph of a batch."""
    n, own = int(sizes[graph]), attributes.edges[:, 0] == graph
    edges = attributes.edges[own] * torch.tensor([0, 1, 1])
    return (
        balls[graph, None, :n],
        sizes[graph, None],
        Features(attributes.nodes[graph, None, :n], edges, attributes.edge_features[own]),
    )


def objective(model, balls, sizes, attributes):
    out = model(balls, sizes, torch.Generator().manual_seed(0), attributes)
    return sum(part.square().mean() for part in out if part is not None and part.numel())


def by_loops(attention, x, turn, mask, pairs):
    """Every key and value as every token sees it, one by one."""
    batch, length, dim = x.shape
    width = dim // attention.heads
    y = torch.zeros(batch, length, dim)
    edges = {tuple(place): e for place, e in zip(pairs.places.tolist(), pairs.features, strict=True)}
    for g in range(batch):
        query, key, value = attention.query_key_value(x[g]).chunk(3, dim=-1)  # (L, D) each
        keys, values = (part[None].repeat(length, 1, 1) for part in (key, value))  # (L, L, D), [i, j]: j as i sees it
        for i in range(length):
            for j in range(length):
                if (g, i, j) in edges:
                    delta = attention.correction(torch.cat((key[j], edges[g, i, j])))
                    keys[i, j], values[i, j] = keys[i, j] + delta[:dim], values[i, j] + delta[dim:]
        for head in range(attention.heads):
            own = slice(head * width, (head + 1) * width)
            for i in range(length):
                turned = rotate(query[i, None, own], turn[:, i, None])  # (1, h)
                scores = (rotate(keys[i, :, own], turn) @ turned[0]) / width**0.5  # (L,)
                weights = scores.where(mask[g, 0, i], -torch.inf).softmax(0)
                y[g, i, own] = weights @ values[i, :, own]
    return y
