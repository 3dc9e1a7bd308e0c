"""The estimator's parameters: an architecture by name, what all architectures have, and those of the chosen one."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator

from geogae import autoencoders, presets
from geogae.autoencoders import Autoencoder
from geogae.errors import GeoGAEError

SHARED: dict[str, Any] = {"latent_dim": 192, "attributes": "ignored", "device": "auto", "seed": 0}  # of all of them


class ArchitectureParameters(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's get_params and set_params over the keyword arguments of an autoencoder's constructor."""

    def __init__(
        self,
        architecture: str = "refined",
        *,
        latent_dim: int = 192,
        attributes: Literal["ignored", "encoded", "decoded"] = "ignored",
        device: str = "auto",
        seed: int = 0,
        **parameters: Any,
    ) -> None:
        defaults = autoencoders.defaults(architecture)
        check_names(parameters, architecture, defaults)
        self.architecture = architecture
        self.latent_dim, self.attributes, self.device, self.seed = latent_dim, attributes, device, seed
        for name, default in defaults.items():
            if name not in SHARED:
                setattr(self, name, parameters.get(name, default))

    @classmethod
    def from_preset(cls, name: str | os.PathLike[str], **changes: Any) -> Self:
        """A preset by name, or a TOML file, with changes: ``GeoGAE.from_preset("mutag", seed=1)``."""
        values = {**presets.read(name), **changes}
        values.pop("dataset", None)
        model = cls(**values)
        model.check_params()
        return model

    @classmethod
    def defaults(cls, architecture: str = "refined") -> dict[str, Any]:
        """Every parameter of an architecture and its default."""
        return {"architecture": architecture, **autoencoders.defaults(architecture), **SHARED}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter of the architecture and its value."""
        return {name: getattr(self, name) for name in self.defaults(self.architecture)}

    def set_params(self, **values: Any) -> Self:
        """Change parameters by name; with another architecture, its other parameters are set to their defaults."""
        if (architecture := values.get("architecture", self.architecture)) != self.architecture:
            kept = {name: value for name, value in self.get_params().items() if name in SHARED}
            self.__init__(**{**kept, **values, "architecture": architecture})  # type: ignore[misc]
            return self
        check_names(values, architecture, self.defaults(architecture))
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """With the parameters that are not at their defaults; scikit-learn's own lists all of an architecture's."""
        defaults = {**self.defaults(self.architecture), "architecture": "refined"}
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name])
        return f"GeoGAE({', '.join(changed)})"

    def check_params(self) -> None:
        """Every parameter within its limits, or one line that says which is not."""
        self._built()

    def _built(self) -> Autoencoder[Any]:
        parameters = self.get_params()
        return autoencoders.find(parameters.pop("architecture"))(**parameters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs are no table
        tags.target_tags.required = False
        return tags


def check_names(given: Iterable[str], architecture: str, valid: Collection[str]) -> None:
    if unknown := [name for name in given if name not in valid]:
        raise GeoGAEError(f"{unknown[0]!r} is no parameter of {architecture}; valid are {', '.join(valid)}")
