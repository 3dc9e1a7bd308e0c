"""Which parameters of ``sequential`` are valid, each by itself and together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geogae.autoencoders.base import MAX_LATENT, check_attributes, check_device
from geogae.autoencoders.transformer.attention import head_dim
from geogae.checks import check_choice, check_number
from geogae.errors import GeoGAEError
from geogae.training import ENDS
from geogae.training.edits import EDITS
from geogae.training.loop import OPTIMIZERS
from geogae.training.precision import PRECISIONS

SEVERAL, MANY = 1000, 10**6
WHOLE_NUMBERS = {  # name → least and most
    "latent_dim": (2, MAX_LATENT), "token_dim": (2, MAX_LATENT), "bundle": (1, MANY), "batch_size": (1, MANY),
    "validations": (1, MANY), "encoder_hidden": (1, MANY), "decoder_hidden": (1, MANY), "passes": (1, SEVERAL),
    "encoder_layers": (1, SEVERAL), "encoder_heads": (1, SEVERAL), "decoder_layers": (1, SEVERAL),
    "decoder_heads": (1, SEVERAL), "edits": (0, 10**4), "edit_repeats": (1, MANY), "edit_ramp": (0, 10**12),
    "refine_steps": (0, MANY), "seed": (0, 2**63 - 1),
}  # fmt: skip
NUMBERS = {"kl_weight": 0.0, "kl_epochs": 0.0, "rho": 0.0, "feature_weight": 0.0, "weight_decay": 0.0, "lr": 1e-12}
CHOICES: dict[str, tuple[Any, ...]] = {
    "optimizer": tuple(OPTIMIZERS), "precision": tuple(PRECISIONS), "stop_rule": ("first", "likeliest"),
    "variational": (False, True), "final_norm": (False, True), "absolute_positions": (False, True),
    "leaves": ("folded", "kept"), "twins": ("folded", "kept"),
}  # fmt: skip


def check_parameters(given: Mapping[str, Any]) -> None:
    """An error that names the value, the limit and the remedy, where a parameter of the constructor is not valid."""
    for name, (least, most) in WHOLE_NUMBERS.items():
        check_number(name, given[name], int, least, most)
    for name, smallest in NUMBERS.items():
        check_number(name, given[name], float, smallest)
    for name, valid in CHOICES.items():
        check_choice(name, given[name], valid)
    for kind in str(given["edit_kinds"]).split("+"):
        check_choice("edit_kinds", kind, EDITS)
    check_attributes(given["attributes"])
    check_device(given["device"])
    _check_ends(given)
    _check_widths(given)
    _check_graphs(given)


def _check_ends(given: Mapping[str, Any]) -> None:
    """When training ends."""
    check_number("epochs", given["epochs"], int, 1, optional=True)
    check_number("patience", given["patience"], int, 1, optional=True)
    for name in ("minutes", "core_minutes"):
        check_number(name, given[name], float, 1e-3, optional=True)
    if all(given[name] is None for name in ("epochs", "minutes", "core_minutes")):
        raise GeoGAEError(f"training needs an end: set one of {', '.join(ENDS)}")


def _check_widths(given: Mapping[str, Any]) -> None:
    """Of tokens and z."""
    latent_dim, token_dim = given["latent_dim"], given["token_dim"]
    for heads in (given["encoder_heads"], given["decoder_heads"]):
        head_dim(token_dim, heads)
    if latent_dim % token_dim:
        nearest = max(1, round(latent_dim / token_dim)) * token_dim
        raise GeoGAEError(
            f"latent_dim={latent_dim} must be a multiple of token_dim={token_dim}; try latent_dim={nearest}"
        )


def _check_graphs(given: Mapping[str, Any]) -> None:
    """What is read of graphs, and how they are edited."""
    attributes, consensus, edit_kinds = given["attributes"], given["consensus"], given["edit_kinds"]
    if consensus and given["edits"] and edit_kinds != "rewire":
        raise GeoGAEError(f"edit_kinds={edit_kinds!r} change the size; with consensus=True use edit_kinds='rewire'")
    for name in ("leaves", "twins"):
        if given[name] == "folded" and (consensus or attributes != "ignored"):
            other = "consensus=True" if consensus else f"attributes={attributes!r}"
            raise GeoGAEError(f"{name}='folded' does not go with {other}; take {name}='kept'")
    if attributes != "ignored" and given["encoder_layers"] < 2:
        raise GeoGAEError("encoder_layers=1 leaves no layer in which nodes see their edges; attributes need 2")
