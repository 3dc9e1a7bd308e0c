"""Being here puts this folder on the path of the tests, so that they can share `strategies`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("geogae", deadline=None, derandomize="CI" in os.environ)  # a busy machine is no bug
settings.load_profile("geogae")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests never read or write the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOGAE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
