"""The limits of GeoGAE's parameters; what is beyond them is one line that names the value, the limit and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geogae.errors import GeoGAEError
from geogae.geometry.fitting import check_device, check_dim
from geogae.model.attention import head_dim

MAX_LATENT = 2**16  # numbers of z; far more than any cloud has use for, few enough for memory
ARCHITECTURES = ("parallel", "sequential", "linear")

CHOICES: dict[str, tuple[Any, ...]] = {
    "architecture": ARCHITECTURES,
    "order": ("greedy", "axis", "template"),
    "attributes": ("ignored", "encoded", "decoded"),
    "leaves": ("auto", "folded", "kept"),
    "precision": ("auto", "float32", "bfloat16"),
    "variational": (True, False),
}
ENDS = ("epochs", "minutes", "core_minutes")  # of training: whichever comes first
NUMBERS: dict[str, tuple[type, float, bool]] = {  # kind, least value, whether None is allowed
    "token_dim": (int, 2, False),
    "latent_dim": (int, 2, False),
    "descent": (int, 0, False),
    "bundle": (int, 1, False),
    "encoder_hidden": (int, 1, False),
    "encoder_layers": (int, 1, False),
    "encoder_heads": (int, 1, False),
    "decoder_hidden": (int, 1, False),
    "decoder_layers": (int, 1, False),
    "decoder_heads": (int, 1, False),
    "passes": (int, 1, False),
    "kl_weight": (float, 0, False),
    "kl_epochs": (float, 0, False),
    "rho": (float, 0, False),
    "feature_weight": (float, 0, False),
    "lr": (float, 1e-12, False),
    "weight_decay": (float, 0, False),
    "batch_size": (int, 1, False),
    "epochs": (int, 1, True),
    "minutes": (float, 1e-3, True),
    "core_minutes": (float, 1e-3, True),
    "patience": (int, 1, True),
    "validations": (int, 1, False),
    "seed": (int, 0, False),
}


def check_parameters(values: Mapping[str, Any]) -> None:
    """Every parameter within its limits, alone and together."""
    for name, valid in CHOICES.items():
        if values[name] not in valid:
            raise GeoGAEError(f"{name}={values[name]!r} is not known; valid are {', '.join(map(str, valid))}")
    for name, (kind, least, optional) in NUMBERS.items():
        value = values[name]
        if value is None and optional:
            continue
        fits = isinstance(value, (int, np.integer) if kind is int else (int, float, np.number))
        if not fits or isinstance(value, bool) or not least <= value < np.inf:
            what = "a whole number" if kind is int else "a number"
            raise GeoGAEError(f"{name}={value!r} must be {what}, at least {least}{', or None' if optional else ''}")
    if values["latent_dim"] > MAX_LATENT:
        raise GeoGAEError(f"latent_dim={values['latent_dim']} must be at most {MAX_LATENT}")
    if values["dim"] != "auto":
        check_dim(values["dim"])
    if values["device"] != "auto":
        check_device(values["device"])
    if values["leaves"] == "folded":
        limits = {"architecture": ("parallel", "linear"), "order": ("greedy", "axis"), "attributes": ("ignored",)}
        for name, valid in limits.items():
            if values[name] not in valid:
                raise GeoGAEError(
                    f"leaves='folded' needs {name}={' or '.join(map(repr, valid))}, not {values[name]!r}; "
                    f"change it, or take leaves='kept'"
                )
    if values["architecture"] != "sequential":
        return  # nothing of what follows is theirs
    latent, token = values["latent_dim"], values["token_dim"]
    for heads in (values["encoder_heads"], values["decoder_heads"]):
        head_dim(token, heads)
    if latent % token:
        nearest = max(1, round(latent / token)) * token
        raise GeoGAEError(f"latent_dim={latent} must be a multiple of token_dim={token}; try latent_dim={nearest}")
    if all(values[end] is None for end in ENDS):
        raise GeoGAEError(f"training needs an end: set one of {', '.join(ENDS)}")
