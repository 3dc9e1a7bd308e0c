"""Scores to optimise: by name for molecules, or any function as ``module:function``. Higher is better."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geogae.errors import GeoGAEError
from geogae.formats.optional import require

Score = Callable[[Any], float]


def qed(molecule: Any) -> float:
    """Drug-likeness (Bickerton et al. 2012), from 0 to 1."""
    return float(require("rdkit.Chem.QED", "chem").qed(molecule))


def logp(molecule: Any) -> float:
    """Crippen's estimate of the partition coefficient between octanol and water."""
    return float(require("rdkit.Chem.Crippen", "chem").MolLogP(molecule))


def plogp(molecule: Any) -> float:
    """Penalised logP: less the synthetic accessibility, and less the atoms of the largest ring beyond six."""
    rings = molecule.GetRingInfo().AtomRings()
    largest = max((len(ring) for ring in rings), default=0)
    return logp(molecule) - sa(molecule) - max(0, largest - 6)


def sa(molecule: Any) -> float:
    """Synthetic accessibility (Ertl and Schuffenhauer 2009), from 1, easy, to 10."""
    return float(_sascorer().calculateScore(molecule))


def tpsa(molecule: Any) -> float:
    """Topological polar surface area."""
    return float(require("rdkit.Chem.rdMolDescriptors", "chem").CalcTPSA(molecule))


def nodes(graph: Any) -> float:
    """The number of nodes."""
    return float(graph.n)


MOLECULES: dict[str, Score] = {"qed": qed, "logp": logp, "plogp": plogp, "sa": sa, "tpsa": tpsa}
GRAPHS: dict[str, Score] = {"nodes": nodes}


def find(name: str) -> tuple[Score, bool]:
    """A score, and whether it is one of molecules; ``module:function`` takes what its attribute ``molecules`` says."""
    if name in MOLECULES:
        return MOLECULES[name], True
    if name in GRAPHS:
        return GRAPHS[name], False
    module, colon, function = name.partition(":")
    if not colon:
        known = ", ".join([*MOLECULES, *GRAPHS])
        raise GeoGAEError(f"score={name!r} is not known; valid are {known}, or module:function")
    try:
        if "" not in sys.path:
            sys.path.insert(0, "")  # a module of the folder that the user is in
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise GeoGAEError(f"score={name!r} cannot be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise GeoGAEError(f"score={name!r} is no function")
    return found, bool(getattr(found, "molecules", False))


def _sascorer() -> Any:
    config = require("rdkit.RDConfig", "chem")
    folder = str(Path(config.RDContribDir) / "SA_Score")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("sascorer")
