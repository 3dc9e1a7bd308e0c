"""Slot features: what a slot holds in addition to its ball."""

from geogae.autoencoders.slots.attributes import Attributes
from geogae.autoencoders.slots.base import Folded, FoldingFeature, SlotFeature, SlotFeatures, SlotValues
from geogae.autoencoders.slots.leaves import Leaves
from geogae.autoencoders.slots.twins import Twins

__all__ = [
    "FEATURES",
    "FOLDS",
    "Attributes",
    "Folded",
    "Leaves",
    "SlotFeature",
    "SlotFeatures",
    "SlotValues",
    "Twins",
]

FEATURES: dict[str, type[SlotFeature]] = {feature.name: feature for feature in (Leaves, Twins, Attributes)}
FOLDS: dict[str, type[FoldingFeature]] = {"leaves": Leaves, "twins": Twins}  # in the order in which they fold
