"""The decoder of a model as arrays that ``static/decoder.js`` decodes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from geogae.estimator import GeoGAE
from geogae.model.linear import LinearAutoencoder
from geogae.model.parallel import ParallelAutoencoder
from geogae.model.payload import SURPRISE, Leaves, Payload
from geogae.pages.packing import Packed, pack


def browser_decoder(model: GeoGAE) -> Packed | None:
    """All that the browser needs to decode z; None for an architecture that it has no decoder for."""
    own = model.model_
    if not isinstance(own, LinearAutoencoder):
        return None
    payload = model.payload_ if model._reads_payload else None
    packed: dict[str, Any] = {
        "latent_dim": own.latent_dim,
        "slots": own.slots,
        "width": own.d,
        "dim": model.dim_,
        "max_nodes": model.max_nodes_,
        "twins": isinstance(own, ParallelAutoencoder) and own.shared,
        "leaves": isinstance(payload, Leaves),
        "categories": _categories(payload) if isinstance(payload, Payload) else None,
    }
    for name in ("center", "scale", "mean", "axes"):
        packed[name] = pack(getattr(own, name).cpu().numpy(), np.float32)
    return packed


def _categories(payload: Payload) -> dict[str, Any]:
    node, edge = payload._widths
    tables = payload.surprises
    return {
        "unit": SURPRISE,
        "node_width": node,
        "edge_width": edge,
        "edge_places": payload.edges,
        "node_sizes": tables.node_sizes.tolist(),
        "edge_sizes": tables.edge_sizes.tolist(),
        "node_values": [list(known) for known in payload.node.categories],
        "edge_values": [list(known) for known in payload.edge.categories],
        "contexts": pack(tables.contexts, np.int64),
        "codes": pack(tables.codes),
        "counts": pack(tables.counts),
    }
