"""The decoder of a model as arrays that ``static/decoder.js`` decodes with.

The browser knows one decoder, the linear one, with whatever its slots hold; other architectures have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from geogae.autoencoders.linear import HEADROOM
from geogae.autoencoders.linear_decoder import LinearDecoder
from geogae.autoencoders.slots.attributes import RANK
from geogae.estimator import GeoGAE
from geogae.pages.packing import Packed, pack

NUMBERS = 1_000_000  # of the axes in a page, at most; beyond them a decoded graph is cut


def browser_decoder(model: GeoGAE) -> Packed | None:
    """All that the browser needs to decode z; None for an architecture that it has no decoder for."""
    autoencoder: Any = model.autoencoder_
    decoder = getattr(autoencoder, "decoder", None)
    if not isinstance(decoder, LinearDecoder):
        return None
    state = autoencoder.state()
    per_slot = decoder.count * decoder.width
    slots = max(decoder.slots, min(autoencoder.max_nodes, HEADROOM * decoder.slots, NUMBERS // per_slot))
    mean, axes = (part.cpu().numpy() for part in decoder.extended(slots))
    tensors = {name: tensor for name, tensor in state.tensors.items() if name.startswith("features.")}
    return {
        "latent_dim": decoder.latent_dim,
        "slots": slots,
        "width": decoder.width,
        "dim": int(autoencoder.reader.dim),
        "max_nodes": autoencoder.max_nodes,
        "unit": float(decoder.unit),
        "mean": pack(mean, np.float32),
        "slopes": pack(decoder.slopes.cpu().numpy(), np.float32),
        "axes": pack(axes, np.float32),
        "features": [_PACKED[name](facts, tensors) for name, facts in state.facts["features"].items()],
    }


def _leaves(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Packed:
    kinds = tensors["features.leaves.kinds"]
    return {"name": "leaves", "kinds": kinds.tolist(), "node_columns": facts["node_columns"]}


def _twins(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Packed:
    return {"name": "twins", "edge": tensors["features.twins.edge"].tolist()}


def _attributes(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Packed:
    node, edge = (facts["schema"][kind] for kind in ("node", "edge"))
    arrays = {name: tensors[f"features.attributes.{name}"].numpy() for name in ("contexts", "codes", "counts")}
    return {
        "name": "attributes",
        "decoded": facts["decoded"],
        "unit": RANK,
        "edge_places": facts["edges"],
        "node_width": len(node["categories"]) + len(facts["rough"]),
        "edge_width": len(edge["categories"]) + len(edge["mean"]) if facts["edges"] else 0,
        "node_values": [list(known) for known in node["categories"]],
        "edge_values": [list(known) for known in edge["categories"]],
        "contexts": pack(arrays["contexts"], np.int64),
        "codes": pack(arrays["codes"]),
        "counts": pack(arrays["counts"]),
    }


_PACKED = {"leaves": _leaves, "twins": _twins, "attributes": _attributes}
