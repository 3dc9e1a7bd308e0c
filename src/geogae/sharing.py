"""Models that come with the package or from the hub, and models that go there."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from geogae import pretrained


class SharedModels:
    """What an estimator that can be saved and loaded needs to be shared."""

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None: ...

    @classmethod
    @abstractmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self: ...

    @classmethod
    def pretrained(cls, name: str | None = None, *, device: str = "auto") -> Any:
        """A model that comes with the package, or ``hf:user/name`` from the hub; without a name, what there is."""
        return pretrained.summaries() if name is None else cls.from_pretrained(name, device=device)

    @classmethod
    def from_pretrained(cls, name: str, *, device: str = "auto") -> Self:
        """The model of that name in the package, or ``hf:user/name`` from the hub."""
        return cls.load(pretrained.path(name), device=device)

    def push_to_hub(self, repo_id: str, *, card: str | None = None, private: bool = False) -> str:
        """Upload the model to ``user/name`` on the hub, with a ``card`` (Markdown) if one is given; its address.

        Needs the extra ``hub``, and a login, as ``hf auth login`` makes.
        """
        with TemporaryDirectory() as folder:
            self.save(folder)
            if card is not None:
                (Path(folder) / pretrained.CARD).write_text(card, encoding="utf-8")
            return pretrained.push_to_hub(folder, repo_id, private=private)
