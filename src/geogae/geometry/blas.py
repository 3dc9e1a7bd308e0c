"""BLAS in one thread: small matrices are slower in several, and their number decides how sums are rounded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  loads the BLAS that is to be limited
from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit the BLAS of NumPy and SciPy, as used by compiled code, to one thread."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context


@cache  # looking for the libraries takes milliseconds, more than to fit a small graph
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
