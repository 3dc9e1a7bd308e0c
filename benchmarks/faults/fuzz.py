"""Damaged files end in one line (a GeoGAEError), or in what they still say; never in a traceback, a hang or a lie.

What counts as a lie depends on the file. With checksums (``.npz``, ``.zip``, models, checkpoints, the cache of clouds)
a changed file is the same content or an error. Without them (text, ``.parquet``, vectors, presets) a changed file may
be another valid file; then what was read must be valid, and the same after it was written and read again.
"""

from __future__ import annotations

import io
import json
import logging
import os
import resource
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from faults.jobs import CACHED
from geogae import GeoGAE, GeoGAEError, Graph, datasets, fit_clouds, formats, presets
from geogae.geometry.cache import CloudCache

HANG = 120.0  # seconds after which one input counts as a hang
MEMORY = 8 << 30  # bytes of address space: a bomb ends in a MemoryError, which counts as a traceback
LANES = 2  # processes

Outcome = str  # "error", "same", "valid", or what went wrong


class Hang(BaseException):
    """Nothing in the library catches it."""


class Wrong(AssertionError):
    """Read without an error, and not right."""


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """The same bytes with one of: a changed byte, a cut, a repeated or removed piece, a long number, noise."""
    data = bytearray(content)
    at, end = sorted(random.integers(0, len(data) + 1, 2).tolist())
    match int(random.integers(7)):
        case 0 | 1 if data:
            data[min(at, len(data) - 1)] ^= 1 << int(random.integers(8))
        case 2:
            del data[at:]
        case 3:
            data[at:at] = data[at:end][:1000]
        case 4:
            del data[at:end]
        case 5:
            data[at:at] = [b"99999999999999999999", b"-1", b"NaN", b"1e999"][int(random.integers(4))]
        case _:
            data[at : at + 8] = random.bytes(8)
    return bytes(data)


@contextmanager
def limited_time() -> Iterator[None]:
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _alarm(number: int, frame: Any) -> None:
    raise Hang


# -- what is damaged, and how it is read ---


class Target:
    """A file in a folder of its own; ``read`` says "same" or "valid", or raises."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graphs = datasets.load("MUTAG")[:30]

    def paths(self) -> list[Path]:
        """The files of which one is damaged each time."""
        raise NotImplementedError

    def read(self) -> Outcome:
        raise NotImplementedError


class GraphFile(Target):
    suffix, checked, plain = "", False, False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / f"graphs{self.suffix}"
        self.write()
        self.expected = formats.read(self.path)

    def write(self) -> None:
        formats.write([graph.topology() if self.plain else graph for graph in self.graphs], self.path)

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        found = formats.read(self.path)
        if found == self.expected:
            return "same"
        if self.checked:
            raise Wrong("other graphs than were written")
        for graph in found:
            Graph(**{name: getattr(graph, name) for name in FIELDS})  # checks everything
        again = self.folder / "again.jsonl"
        formats.write(found, again)
        if formats.read(again) != found:
            raise Wrong("other graphs after they were written and read again")
        return "valid"


FIELDS = ("n", "edges", "node_categorical", "node_continuous", "edge_categorical", "edge_continuous", "label", "name")


class Jsonl(GraphFile):
    suffix = ".jsonl"


class Graph6(GraphFile):
    suffix, plain = ".g6", True


class Sparse6(GraphFile):
    suffix, plain = ".s6", True


class Npz(GraphFile):
    suffix, checked = ".npz", True


class Parquet(GraphFile):
    suffix = ".parquet"


class Smiles(GraphFile):
    suffix = ".smi"

    def write(self) -> None:
        names = ("CCO ethanol", "c1ccccc1O phenol", "CC(=O)O acid", "C[N+](C)(C)C", "O=C1CCC2CC1C2 cage", "[Na+].[Cl-]")
        self.path.write_text("\n".join(names) + "\n")


class TuZip(GraphFile):
    suffix, checked = ".zip", True

    def write(self) -> None:
        formats.write_tu(self.graphs, self.folder / "TU")
        shutil.make_archive(str(self.path.with_suffix("")), "zip", self.folder, "TU")

    def read(self) -> Outcome:
        try:
            return super().read()
        except Wrong:  # a member that is optional may be lost with its name: that is another archive, not a lie
            found = formats.read(self.path)
            if [graph.topology() for graph in found] == [graph.topology() for graph in self.expected]:
                return "valid"
            raise


class TuFolder(GraphFile):
    def write(self) -> None:
        self.path = self.folder / "TU"
        formats.write_tu(self.graphs, self.path)

    def paths(self) -> list[Path]:
        return sorted(self.path.iterdir())


class Vectors(Target):
    suffix = ".npy"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.model = GeoGAE(dim=3, latent_dim=16, steps=50).fit(self.graphs)
        self.z = self.model.encode(self.graphs[:4])
        self.path = folder / f"z{self.suffix}"
        if self.suffix == ".npy":
            np.save(self.path, self.z)
        else:
            self.path.write_text(json.dumps(self.z.tolist()))
        self.expected = self.model.inverse_transform(self.z)

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        from geogae.formats.vectors import read_vectors

        z = np.atleast_2d(read_vectors(self.path))
        found = self.model.inverse_transform(z)
        if len(found) != len(z) or z.shape[1] != 16 or not np.isfinite(z.astype(np.float32)).all():
            raise Wrong("vectors that are none were decoded")
        return "same" if found == self.expected else "valid"


class VectorsJson(Vectors):
    suffix = ".json"


class Preset(Target):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "preset.toml"
        self.path.write_text('dim = 3\nlatent_dim = 16\norder = "axis"\nsteps = 5\nseed = 1\nleaves = "kept"\n')
        self.expected = GeoGAE.from_preset(self.path).get_params()

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        found = GeoGAE.from_preset(self.path).get_params()
        asked = {name: value for name, value in presets.read(self.path).items() if name != "dataset"}
        if any(found[name] != value for name, value in asked.items()):
            raise Wrong("a value of the file was not taken")
        return "same" if found == self.expected else "valid"


class Model(Target):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        model = GeoGAE(dim=3, latent_dim=16, steps=50).fit(self.graphs)
        model.save(folder / "model")
        self.z = model.encode(self.graphs[:4])

    def paths(self) -> list[Path]:
        return sorted((self.folder / "model").iterdir())

    def read(self) -> Outcome:
        if not np.array_equal(GeoGAE.load(self.folder / "model").encode(self.graphs[:4]), self.z):
            raise Wrong("another z")
        return "same"


class Checkpoint(Target):
    def __init__(self, folder: Path) -> None:
        import torch

        from geogae.training.checkpoint import save_checkpoint

        super().__init__(folder)
        self.path = folder / "state.safetensors"
        self.tensors = {"model.a": torch.arange(12.0).reshape(3, 4), "best.a": torch.zeros(3)}
        self.facts = {"step": 3, "history": [{"seconds": 0.5, "step": 3}], "settings": {"lr": 0.001}}
        save_checkpoint(self.path, self.tensors, self.facts)

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        from geogae.training.checkpoint import load_checkpoint

        tensors, facts = load_checkpoint(self.path)
        same = facts == self.facts and tensors.keys() == self.tensors.keys()
        if not same or not all(tensor.equal(tensors[name]) for name, tensor in self.tensors.items()):
            raise Wrong("another state")
        return "same"


class Cache(Target):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "clouds.sqlite"
        self.expected = self.clouds()
        assert CloudCache(self.path).facts()["entries"] > 0

    def clouds(self) -> list[bytes]:
        return [cloud.balls.tobytes() for cloud in fit_clouds(self.graphs[:6], 4, cache=self.path, **CACHED)]

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        try:
            if self.clouds() != self.expected:
                raise Wrong("other clouds")
        finally:
            for left in self.folder.glob("clouds.sqlite?*"):
                left.unlink()
        return "same"


class Results(Target):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / "MUTAG.jsonl"
        stored = Path(__file__).parents[1] / "results" / "MUTAG.jsonl"
        self.path.write_bytes(b"\n".join(stored.read_bytes().splitlines()[:4]) + b"\n")

    def paths(self) -> list[Path]:
        return [self.path]

    def read(self) -> Outcome:
        from geogae.benchmark.results import read_results
        from geogae.benchmark.summary import summarise
        from geogae.benchmark.tables import tables

        for make in tables(summarise(read_results(self.folder))).values():
            with suppress(FileNotFoundError):
                make()
        return "valid"


TARGETS: dict[str, tuple[Callable[[Path], Target], int]] = {  # and of 10,000 inputs how many
    ".jsonl": (Jsonl, 700),
    ".g6": (Graph6, 700),
    ".s6": (Sparse6, 700),
    ".smi": (Smiles, 700),
    ".parquet": (Parquet, 700),
    ".npz": (Npz, 700),
    "TU .zip": (TuZip, 700),
    "TU folder": (TuFolder, 700),
    "z .npy": (Vectors, 600),
    "z .json": (VectorsJson, 600),
    "preset": (Preset, 600),
    "model folder": (Model, 700),
    "checkpoint": (Checkpoint, 400),
    "cache of clouds": (Cache, 200),
    "results of the benchmark": (Results, 200),
}
ARGUMENTS = {"command line": 760, "command line, a process each": 40}
WHOLE = sum(share for _, share in TARGETS.values()) + sum(ARGUMENTS.values())


# -- all of it ---


def one_kind(kind: str, count: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Outcomes of ``count`` damaged inputs of one kind, and what went wrong."""
    logging.getLogger("geogae").setLevel(logging.CRITICAL)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name, _in_folder(Path(name)):
        if kind in ARGUMENTS:
            from faults.arguments import command_lines

            return command_lines(Path(name), count, seed, processes="process" in kind)
        target = TARGETS[kind][0](Path(name))
        random = np.random.default_rng(seed)
        for number in range(count):
            paths = target.paths()
            path = paths[int(random.integers(len(paths)))]
            content = path.read_bytes()
            path.write_bytes(damaged(content, random))
            try:
                with limited_time():
                    outcome = target.read()
            except GeoGAEError as error:
                outcome = "error" if "\n" not in str(error) else "an error of several lines"
            except Wrong as error:
                outcome = f"silently wrong: {error}"
            except Hang:
                outcome = "hang"
            except Exception as error:
                outcome = f"traceback: {type(error).__name__}: {str(error)[:80]}"
            if outcome not in ("error", "same", "valid"):
                failures.append(f"{kind}, seed {seed}, input {number}: {outcome}")
                outcome = outcome.partition(":")[0]
            counts[outcome] += 1
            path.write_bytes(content)
    return dict(counts), failures


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    os.environ.update(GEOGAE_CACHE=str(folder / "cache"), GEOGAE_TU_URL="http://127.0.0.1:9/none")
    try:
        yield
    finally:
        os.chdir(before)


def _begin() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # an argument "-" reads stdin, which is empty


def fuzz(count: int) -> dict[str, Any]:
    shares = {kind: share for kind, (_, share) in TARGETS.items()} | ARGUMENTS
    tasks = [
        (kind, part, seed)
        for kind, share in sorted(shares.items(), key=lambda item: item[0] not in ARGUMENTS)  # the slowest first
        for seed, part in enumerate(_halves(max(1, round(count * share / WHOLE))))
    ]
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in shares}
    failures: list[str] = []
    with ProcessPoolExecutor(LANES, mp_context=get_context("spawn"), initializer=_begin) as pool:
        for task, future in [(task, pool.submit(one_kind, *task)) for task in tasks]:
            try:
                found, wrong = future.result()
                outcomes[task[0]] += Counter(found)
                failures += wrong
            except BrokenProcessPool:
                failures.append(f"{task[0]}: the process ended")
    total: Counter[str] = sum(outcomes.values(), Counter())
    kinds = {kind: dict(counts) for kind, counts in outcomes.items()}
    return {"inputs": sum(total.values()), "outcomes": dict(total), "kinds": kinds, "failures": failures}


def _halves(count: int) -> list[int]:
    return [part for part in (count // 2, count - count // 2) if part]


def empty_stdin() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO())
