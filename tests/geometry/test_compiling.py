"""A message says that kernels are compiled, once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from geogae import datasets, fit_clouds
from geogae.geometry import compiling


@pytest.mark.parametrize(("seconds", "said"), [(0.5, 1), (0.0, 0)])
def test_a_long_compilation_is_said(
    seconds: float, said: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    label = compiling.canonicalise_all

    def slow(graphs: Any) -> Any:
        end = time.process_time() + seconds
        while time.process_time() < end:  # waiting does not count
            time.sleep(0)
        return label(graphs)

    monkeypatch.setattr(compiling, "canonicalise_all", slow)
    monkeypatch.setattr(compiling, "PATIENCE", 0.1 if seconds else 60.0)
    compiling.compile_kernels.cache_clear()
    graphs = datasets.load("MUTAG")[:2]
    for _ in range(2):
        fit_clouds(graphs, 3, cache=False)
    assert [message.startswith("compiling kernels, once") for message in caplog.messages] == [True] * said
