"""Models on the Hugging Face hub: a model folder there is a model folder here. Needs the extra ``hub``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.formats.optional import require
from geogae.model_folder import CONFIG, load_folder

PREFIX = "hf:"
FILES = (CONFIG, "*.safetensors", "README.md")  # all that goes there and comes from there: nothing that can run
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def push_to_hub(
    folder: str | os.PathLike[str], repo_id: str, *, private: bool = False, message: str = "A geogae model"
) -> str:
    """Upload a model folder to ``user/name``, which is made if it is not there yet; returns its address.

    Log in first, as ``hf auth login`` does.
    """
    _check(repo_id)
    load_folder(folder)  # an error unless it is a whole model
    hub = require("huggingface_hub", "hub")
    try:
        hub.create_repo(repo_id, private=private, exist_ok=True, repo_type="model")
        done = hub.upload_folder(
            repo_id=repo_id,
            folder_path=str(folder),
            allow_patterns=list(FILES),
            commit_message=message,
            repo_type="model",
        )
    except Exception as error:  # the hub's and the network's are of many kinds
        raise GeoGAEError(f"cannot upload to {PREFIX}{repo_id}: {_line(error)}; are you logged in?") from None
    return str(done)


def hub_path(name: str, *, revision: str | None = None) -> Path:
    """The folder of ``hf:user/name``, downloaded once and kept in the hub's own cache."""
    repo_id = name.removeprefix(PREFIX)
    _check(repo_id)
    hub = require("huggingface_hub", "hub")
    try:
        folder = hub.snapshot_download(repo_id, revision=revision, allow_patterns=list(FILES), repo_type="model")
    except Exception as error:
        raise GeoGAEError(f"cannot download {PREFIX}{repo_id}: {_line(error)}") from None
    return Path(folder)


def _check(repo_id: str) -> None:
    if not _REPOSITORY.fullmatch(repo_id):
        raise GeoGAEError(f"{repo_id!r} is no name on the hub; give user/name, such as {PREFIX}me/molecules")


def _line(error: Any) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
