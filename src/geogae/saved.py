"""A fitted GeoGAE as a folder: config.json and model.safetensors. Nothing in it can run code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

import geogae
from geogae.attributes import Schema
from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.geometry.template import Template
from geogae.graph import Graph
from geogae.model.payload import Leaves, Payload
from geogae.training.checkpoint import load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from geogae.estimator import GeoGAE

    Model = TypeVar("Model", bound=GeoGAE)

FORMAT = 2  # of a saved model
CONFIG, WEIGHTS = "config.json", "model.safetensors"


def save_model(model: GeoGAE, path: str | os.PathLike[str]) -> None:
    """Each of the two files is replaced as a whole."""
    folder = Path(path)
    fitted: dict[str, Any] = {"dim": model.dim_, "max_nodes": model.max_nodes_, "slots": model.slots_}
    fitted |= {"shares": model.shares_, "folds": model.folds_}
    tensors = dict(model.model_.state_dict())
    if model.template_ is not None:
        tensors["template.edges"] = torch.from_numpy(model.template_.graph.edges.copy())
        tensors["template.balls"] = torch.from_numpy(model.template_.balls)
    if model.schema_ is not None:
        fitted["schema"] = model.schema_.to_json()
    if isinstance(payload := model.payload_, Payload):
        fitted["payload"] = {"edges": payload.edges, "smooth": payload.smooth, "loose": payload.loose}
        tensors |= {f"payload.{name}": torch.from_numpy(array) for name, array in _tables(payload).items()}
    config = {"format": FORMAT, "geogae": geogae.__version__, "params": model.get_params(), "fitted": fitted}
    save_checkpoint(folder / WEIGHTS, tensors, {"format": FORMAT})
    with atomic_path(folder / CONFIG) as temporary:
        temporary.write_text(json.dumps(config, indent=1) + "\n")


def load_model(cls: type[Model], path: str | os.PathLike[str], device: str) -> Model:
    """What :func:`save_model` left; clear words for anything else."""
    folder = Path(path)
    if not folder.is_dir():
        raise GeoGAEError(f"{folder} is no folder; a saved model is a folder with {CONFIG} and {WEIGHTS}")
    try:
        config = json.loads((folder / CONFIG).read_text())
        if (version := config["format"]) != FORMAT:
            raise GeoGAEError(
                f"{folder / CONFIG} has format {version}, written by geogae {config.get('geogae')}; "
                f"this geogae {geogae.__version__} reads format {FORMAT}: use that version, or train again"
            )
        params, fitted = dict(config["params"]), config["fitted"]
        dim, max_nodes, slots = (int(fitted[name]) for name in ("dim", "max_nodes", "slots"))
        shares, folds = bool(fitted["shares"]), bool(fitted.get("folds"))
        schema = Schema.from_json(fitted["schema"]) if "schema" in fitted else None
        payload = Payload(schema, **fitted["payload"]) if schema is not None and "payload" in fitted else None
    except GeoGAEError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GeoGAEError(f"{folder / CONFIG} is missing or damaged ({error}); train or save again") from None
    model = cls().set_params(**{**params, "device": device})
    model.dim_, model.max_nodes_, model.slots_, model.shares_, model.folds_ = dim, max_nodes, slots, shares, folds
    model.schema_, model.payload_, model.template_ = schema, Leaves() if folds else payload, None
    weights, _ = load_checkpoint(folder / WEIGHTS)
    try:
        model.model_ = model._build()
        if model.order == "template":
            edges, balls = (weights.pop(f"template.{part}").numpy() for part in ("edges", "balls"))
            model.template_ = Template(Graph(len(balls), edges), balls)
        if payload is not None:
            _fill(payload, {name: weights.pop(f"payload.{name}") for name in _tables(payload)})
        model.model_.load_state_dict(weights)
    except (RuntimeError, KeyError, ValueError, TypeError):
        raise GeoGAEError(f"{folder / WEIGHTS} does not fit {CONFIG} beside it; restore both, or train again") from None
    return model


def _tables(payload: Payload) -> dict[str, np.ndarray]:
    """What a payload has learned."""
    surprises, (node, edge) = payload.surprises, payload.averages
    learned = {"contexts": surprises.contexts, "codes": surprises.codes, "counts": surprises.counts}
    return learned | {"node_averages": node, "edge_averages": edge}


def _fill(payload: Payload, tables: dict[str, Tensor]) -> None:
    arrays = {name: table.numpy() for name, table in tables.items()}
    surprises = payload.surprises
    known = max([*surprises.node_sizes, *surprises.edge_sizes], default=0)
    if len({len(arrays[name]) for name in ("contexts", "codes", "counts")}) > 1 or (
        len(arrays["codes"]) and not 0 <= arrays["codes"].min() <= arrays["codes"].max() < known
    ):
        raise ValueError("the tables of a payload do not belong together")
    if any(arrays[name].shape != had.shape for name, had in _tables(payload).items() if name.endswith("averages")):
        raise ValueError("the averages of a payload have another shape")
    surprises.contexts, surprises.codes, surprises.counts = (arrays[name] for name in ("contexts", "codes", "counts"))
    payload.averages = [arrays["node_averages"], arrays["edge_averages"]]
