"""Results of several seeds as one row: what tables and figures show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

from geogae import __version__
from geogae.benchmark.methods import METHODS
from geogae.benchmark.paper import Score, paper
from geogae.datasets import NUMBERS

Entry = Mapping[str, Any]

ATTRIBUTES = ("node_f1", "node_rmse", "edge_f1", "edge_rmse", "whole")  # scores of metrics.attributes


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation; a single value has none."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        return cls(mean(values), stdev(values) if len(values) > 1 else None) if values else None


@dataclass(frozen=True)
class Failure:
    """A run without scores."""

    seed: int
    error: str


@dataclass(frozen=True)
class Row:
    """All seeds of a method with one budget and one m, on one split of one data set; scores are of those with one."""

    dataset: str
    sample: int | None
    split: str
    method: str
    core_minutes: float | None  # the budget of a trained method: processor time, or minutes × threads
    changes: dict[str, Any]  # of its other parameters
    m: int | None  # size of z; None for a trivial baseline
    swept: bool  # whether m was chosen other than the paper's
    side_information: list[str]  # what the decoder gets beside z: "size", "alignment"
    seeds: list[int]
    failed: list[Failure]
    f1: Spread | None
    exact: Spread | None
    size_error: Spread | None
    f1_unseen: Spread | None  # of the test graphs that are isomorphic to no training graph
    exact_unseen: Spread | None
    f1_with: dict[str, Spread]  # by side information, of a method that can do with or without it
    attributes: dict[str, Spread]  # node_f1, node_rmse, edge_f1, edge_rmse, whole: those that were measured
    not_encoded: float | None  # graphs of a test set that the method could not encode; this and what follows are means
    chosen: dict[str, int]  # d and node order, and for how many seeds
    fit_seconds: float | None
    compile_seconds: float | None  # not in the other times; None in older results, where it is in them
    cpu_seconds: float | None  # of the whole run
    graphs_per_second: float | None  # encoded and decoded
    clouds: str  # where the clouds came from: "fitted", "cached", "some cached"; "" where it is not known
    peak_gib: float | None
    threads: list[int]
    commits: list[str]
    versions: list[str]  # of geogae
    commands: list[str]
    total_seconds: float  # of all runs, also those that failed

    @property
    def name(self) -> str:
        """The method with its budget and changes: ``sequential, 20 core-min``."""
        budget = [] if self.core_minutes is None else [f"{self.core_minutes:g} core-min"]
        return ", ".join([self.method, *budget, *(f"{name}={value}" for name, value in self.changes.items())])

    @property
    def attributed(self) -> bool:
        """Whether the method reads attributes: it is not compared with those that encode the topology alone."""
        return self.method.endswith("-attributes")

    @property
    def trivial(self) -> bool:
        """Whether it is a trivial baseline: it has no z of a size that could be chosen."""
        return self.method in METHODS and not METHODS[self.method].sized

    @property
    def data(self) -> str:
        return self.dataset if self.sample is None else f"{self.dataset} ({self.sample:,} sampled)"

    @property
    def printed(self) -> Score:
        """GeoGAE's F1 in the paper, in %, with attributes treated alike."""
        attributes = self.changes.get("attributes", "decoded" if self.attributed else "ignored")
        return paper().geogae(self.dataset.removesuffix(NUMBERS), str(attributes))

    @property
    def paper_f1(self) -> float | None:
        """The same as a fraction."""
        return None if self.printed.mean is None else self.printed.mean / 100

    @property
    def difference(self) -> float | None:
        return None if self.f1 is None or self.paper_f1 is None else self.f1.mean - self.paper_f1

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self), "paper_f1": self.paper_f1, "difference": self.difference}


def summarise(entries: Iterable[Entry]) -> list[Row]:
    """One row for each data set, split, method, budget and m: the paper's data sets and trivial baselines first.

    A run that was asked for the paper's m is the same as one that was not asked for any. A mean is of one version of
    geogae: seeds that only an older version has measured are left out where the current one has measured others.
    """
    groups: defaultdict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in sorted(entries, key=lambda entry: "latent_dim" in entry["changes"]):
        shared = [entry[name] for name in ("dataset", "sample", "split", "method")]
        group = [*shared, _core_minutes(entry), sorted(_other_changes(entry).items()), _swept(entry)]
        run = [entry["seed"], entry["changes"].get("minutes"), entry["changes"].get("core_minutes"), entry["threads"]]
        groups[str(group)].setdefault(str(run), entry)
    return sorted((_row(_of_one_version(list(runs.values()))) for runs in groups.values()), key=_place)


def _of_one_version(entries: list[Entry]) -> list[Entry]:
    current = [entry for entry in entries if entry["versions"].get("geogae") == __version__]
    return current or entries


def _row(entries: list[Entry]) -> Row:
    entries = sorted(entries, key=lambda entry: entry["seed"])
    one, scored = entries[0], [entry for entry in entries if entry["error"] is None]

    def values(group: str, name: str) -> list[float]:
        return [entry[group][name] for entry in scored if name in entry[group]]

    def average(numbers: Sequence[float]) -> float | None:
        return mean(numbers) if numbers else None

    def spread(score: str) -> Spread | None:
        return Spread.of(values("scores", score))

    encoded = sum(entry["graphs"]["test"] - entry["not_encoded"] for entry in scored)
    working = sum(values("seconds", "encode") + values("seconds", "decode"))
    return Row(
        **{name: one[name] for name in ("dataset", "sample", "split", "method")},
        core_minutes=_core_minutes(one),
        changes=_other_changes(one),
        m=_swept(one) or next((entry["config"].get("latent_dim") for entry in scored), None),
        swept=_swept(one) is not None,
        side_information=next((entry["side_information"] for entry in scored), []),
        seeds=[entry["seed"] for entry in scored],
        failed=[Failure(entry["seed"], entry["error"]) for entry in entries if entry["error"] is not None],
        f1_with=_with_side_information(scored),
        attributes={name: found for name in ATTRIBUTES if (found := spread(name))},
        f1=spread("f1"),
        exact=spread("exact"),
        size_error=spread("size_error"),
        f1_unseen=spread("f1_unseen"),
        exact_unseen=spread("exact_unseen"),
        not_encoded=average([entry["not_encoded"] for entry in scored]),
        chosen=dict(Counter(chosen for entry in scored if (chosen := _chosen(entry["config"]))).most_common()),
        fit_seconds=average(values("seconds", "fit")),
        compile_seconds=average(values("seconds", "compile")),
        cpu_seconds=average(values("seconds", "cpu")),
        graphs_per_second=encoded / working if working else None,
        clouds=_clouds(scored),
        peak_gib=max((entry["peak_gib"] for entry in scored if entry["peak_gib"] is not None), default=None),
        threads=sorted({entry["threads"] for entry in entries}),
        commits=_distinct(f"{entry['commit']}{' (modified)' * entry['modified']}" for entry in entries),
        versions=_distinct(str(entry["versions"].get("geogae")) for entry in entries),
        commands=_distinct(entry["command"] for entry in entries),
        total_seconds=sum(entry["seconds"]["wall"] for entry in entries),
    )


def _with_side_information(entries: Sequence[Entry]) -> dict[str, Spread]:
    kinds = _distinct(kind for entry in entries for kind in entry.get("scores_with", {}))
    found = {
        kind: [e["scores_with"][kind]["f1"] for e in entries if kind in e.get("scores_with", {})] for kind in kinds
    }
    return {kind: spread for kind, values in found.items() if (spread := Spread.of(values))}


def _core_minutes(entry: Entry) -> float | None:
    minutes, core_minutes = entry["changes"].get("minutes"), entry["changes"].get("core_minutes")
    if core_minutes is None and minutes is not None:
        return float(minutes * entry["threads"])
    return core_minutes


BUDGET = ("minutes", "core_minutes", "latent_dim")  # columns of their own


def _other_changes(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in sorted(entry["changes"].items()) if name not in BUDGET}


def _swept(entry: Entry) -> int | None:
    """The m that was asked for, unless it is the paper's or the method has none."""
    m: int | None = entry["changes"].get("latent_dim")
    trivial = entry["error"] is None and "latent_dim" not in entry["config"]
    return None if trivial or m == paper().latent(entry["dataset"].removesuffix(NUMBERS)) else m


def _chosen(config: Mapping[str, Any]) -> str:
    parts = [f"d={config['dim']}"] if config.get("dim") is not None else []
    return ", ".join([*parts, *([config["order"]] if config.get("order") is not None else [])])


def _clouds(entries: Sequence[Entry]) -> str:
    """Whether times include fitting the clouds. A run reads its own fits again, so one fit is enough to decide."""
    counts = [entry.get("clouds") for entry in entries]
    if not counts or any(not count for count in counts):
        return ""
    if not any(sum(count.values()) for count in counts if count):
        return "none"
    cached = [count.get("cached", 0) > 0 and not count.get("fitted", 0) for count in counts if count]
    return "cached" if all(cached) else "some cached" if any(cached) else "fitted"


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _place(row: Row) -> tuple[Any, ...]:
    known = paper().datasets
    dataset = known.index(row.dataset) if row.dataset in known else len(known)
    return (dataset, row.data, row.split != "paper", *method_place(row), row.m or 0)


def method_place(row: Row) -> tuple[Any, ...]:
    """Trivial baselines first, then PCA, then what is trained, by budget."""
    known = list(METHODS)
    method = known.index(row.method) if row.method in known else len(known)
    return method, row.method, row.core_minutes or 0, row.name
