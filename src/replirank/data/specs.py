"""The data sets by name: what is known of each, and what stands in for it where it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from replirank.data import columns, simulate
from replirank.data.arrays import Dataset, RankingData
from replirank.data.artificial import artificial
from replirank.data.lists import ordered_by_feature
from replirank.errors import ReplirankError


@dataclass(frozen=True)
class Spec:
    """A data set. `queries`, `documents` and `labels` count the whole set, all folds together, where they are known."""

    id: str
    title: str
    features: int | None  # None: any number
    levels: tuple[float, ...] | None = None  # the labels that may occur; None: any
    stand_in: Callable[..., Dataset] | None = None  # (queries, documents, seed) -> a simulated set of this shape
    names: tuple[str, ...] = ()  # of its folder or archive
    bundles: tuple[str, ...] = ()  # archives that may hold it among others
    columns: Mapping[str, int] = field(default_factory=dict)
    folds: int | None = 5  # None: as many as its files have
    queries: int | None = None
    documents: int | None = None
    labels: Mapping[int, int] | None = None
    checksum: str | None = None  # of the content (RankingData.checksum), where the original bytes were at hand
    named: bool = False  # its files name the documents: a copy without names is a reconstruction
    normalized: bool = False  # its makers scaled each feature within each query; a copy that is not, is scaled here
    made: bool = False  # never published or artificial: there is nothing to look for
    artificial: bool = False  # the paper itself made it at random, and says how
    note: str = ""
    strict: bool = False  # no two documents of a query have the same label
    path: Path | None = None  # where config.yaml says that it is
    files_of: str = ""  # the data set whose files hold it, where that is another one
    normalize: bool = False  # scale each feature of a query to 0..1
    cut_into: int = 5  # folds, where it is one file
    cut_anew: bool = False  # its folds are cut here, whatever folds its files have
    keep: tuple[int, ...] = ()  # the columns of another set (from 0) that this set consists of; (): all
    features_in_files: int | None = None  # where some of them are not kept
    derive: Callable[[RankingData], RankingData] | None = None  # makes derived lists of the documents
    part_numbers: tuple[int, ...] = ()  # of the parts S1..Sn that a copy has, where it has not all
    part_queries: tuple[int, ...] = ()  # how many queries S1..S5 have each: so Fold1 alone gives all folds


def in_four_folds(full: Spec, id: str, title: str, note: str, keep: tuple[int, ...] = ()) -> Spec:
    """The same queries in four folds, as frank2007 cut them; and, where `keep` is given, some of the columns."""
    assert full.features is not None
    assert full.stand_in is not None
    stand_in, kept = full.stand_in, keep or tuple(range(full.features))
    return replace(
        full,
        id=id,
        title=title,
        files_of=full.id,
        folds=4,
        cut_anew=True,
        keep=keep,
        features=len(kept),
        features_in_files=full.features,
        columns={name: kept.index(column) for name, column in full.columns.items() if column in kept},
        stand_in=lambda **size: keep_columns(stand_in(**size, folds=4), kept),
        note=note,
    )


def keep_columns(dataset: Dataset, keep: tuple[int, ...]) -> Dataset:
    data = dataset.data
    columns = {name: keep.index(column) for name, column in data.columns.items() if column in keep}
    return replace(dataset, data=replace(data, features=data.features[:, list(keep)], columns=columns))


def ordered_by(full: Spec, id: str, title: str, *, feature: int, without: tuple[int, ...], documents: int) -> Spec:
    """Lists in strict order, derived: the documents in the order of one feature, with other features left out.

    Features are numbered from 1, as LETOR does.
    """
    assert full.features is not None
    assert full.stand_in is not None
    stand_in, hidden = full.stand_in, tuple(number - 1 for number in without)
    derive = partial(ordered_by_feature, column=feature - 1, without=hidden)

    def simulated(**size: Any) -> Dataset:
        dataset = stand_in(**size)  # any of its features but BM25 may be constant
        return replace(dataset, data=derive(dataset.data, column=full.columns["bm25"]))

    return replace(
        full,
        id=id,
        title=title,
        files_of=full.id,
        derive=derive,
        features=full.features - len(without),
        features_in_files=full.features,
        stand_in=simulated,
        columns={},
        documents=documents,
        labels=None,
        strict=True,
        note=(
            f"DERIVED lists, which nobody judged: the documents of {full.title}'s {full.queries} queries in the order "
            f"of one of their real rankers, {columns.RANKERS[feature]} of the whole document (feature {feature}), to "
            f"be learned from the others; features {', '.join(map(str, without))} (the rankers on the whole document) "
            "are removed, those on single fields stay, and documents that share their value with another are left out"
        ),
    )


def _gov(
    id: str, folder: str, queries: int, documents: int, relevant: float, labels: Mapping[int, int] | None = None
) -> Spec:
    return Spec(
        id,
        id.upper(),
        features=64,
        levels=(0, 1),
        stand_in=partial(simulate.gov, relevant),
        names=(id.upper(), folder),
        bundles=("Gov", "LETOR3.0", "LETOR3"),
        columns=columns.GOV,
        queries=queries,
        documents=documents,
        labels=labels,
        named=True,
        normalized=True,
        part_queries=(queries // 5,) * 5,
    )


def _mslr(id: str, title: str, queries: int, documents: int) -> Spec:
    return Spec(
        id,
        title,
        features=136,
        levels=(0, 1, 2, 3, 4),
        stand_in=simulate.mslr,
        names=(title,),
        columns=columns.MSLR,
        queries=queries,
        documents=documents,
    )


TD2003 = _gov("td2003", "2003_td_dataset", 50, 49_058, 8, labels={0: 48_651, 1: 407})

_MILLION_QUERY: dict[str, Any] = {
    "features": 46,
    "levels": (0, 1, 2),
    "columns": columns.LETOR4,
    "named": True,
    "normalized": True,
}

SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        spec.id: spec
        for spec in (
            Spec(
                "ohsumed",
                "OHSUMED",
                features=45,
                levels=(0, 1, 2),
                stand_in=partial(
                    simulate.letor,
                    features=45,
                    shares={0: 0.70, 1: 0.16, 2: 0.14},
                    columns=columns.OHSUMED,
                    barren=0.02,
                ),
                names=("OHSUMED",),
                bundles=("LETOR3.0", "LETOR3"),
                columns=columns.OHSUMED,
                queries=106,
                documents=16_140,
                labels={0: 11_303, 1: 2_585, 2: 2_252},
                named=True,
                normalized=True,
                part_queries=(21, 21, 21, 21, 22),
                checksum="9a3e3b5204a521c2784e31a0389648c7153d1f594e724d1fa9e1d8eab0b31d9f",
            ),
            TD2003,
            in_four_folds(
                TD2003, "td2003_4", "TD2003 in 4 folds", "its 50 queries cut into four folds, as in frank2007"
            ),
            in_four_folds(
                TD2003,
                "td2003_4_14",
                "TD2003 in 4 folds, 14 features",
                "its 50 queries cut into four folds, as in frank2007; 14 of its 64 features, see Table 1",
                keep=columns.FRANK_COLUMNS,
            ),
            # Of the rankers on the whole document this one has the fewest equal values. The feature that is nearest to
            # it is that of the body (26), at a Kendall tau of .06; to BM25 (25) features 41 and 42, which are BM25
            # propagated along the sitemap, are far nearer (.02).
            ordered_by(
                TD2003, "td2003_list", "TD2003 lists", feature=30, without=columns.WHOLE_DOCUMENT, documents=44_674
            ),
            _gov("td2004", "2004_td_dataset", 75, 74_146, 15),
            _gov("hp2003", "2003_hp_dataset", 150, 147_606, 1),
            _gov("hp2004", "2004_hp_dataset", 75, 74_409, 1),
            _gov("np2003", "2003_np_dataset", 150, 148_657, 1),
            _gov("np2004", "2004_np_dataset", 75, 73_834, 1),
            replace(
                _gov("np2004_30", "", 30, 29_181, 1, labels={0: 29_151, 1: 30}),
                title="NP2004-30",
                names=("NP2004-30",),
                bundles=(),
                part_numbers=(4, 5),
                part_queries=(),
                cut_anew=True,
                note="30 of NP2004's 75 queries, its parts S4 and S5, cut into five folds here",
            ),
            Spec(
                "mq2007",
                "MQ2007",
                stand_in=partial(
                    simulate.letor,
                    features=46,
                    shares={0: 0.742, 1: 0.203, 2: 0.055},
                    columns=columns.LETOR4,
                    barren=0.14,
                ),
                names=("MQ2007",),
                bundles=("LETOR4.0", "LETOR4"),
                queries=1_692,
                documents=69_623,
                labels={0: 51_632, 1: 14_128, 2: 3_863},
                part_queries=(339, 339, 339, 339, 336),
                **_MILLION_QUERY,
            ),
            Spec(
                "mq2008",
                "MQ2008",
                stand_in=partial(
                    simulate.letor,
                    features=46,
                    shares={0: 0.807, 1: 0.132, 2: 0.061},
                    columns=columns.LETOR4,
                    barren=0.28,
                ),
                names=("MQ2008",),
                bundles=("LETOR4.0", "LETOR4"),
                queries=784,
                documents=15_211,
                labels={0: 12_279, 1: 2_001, 2: 931},
                part_queries=(157, 157, 157, 157, 156),
                checksum="ed8b4f327c69aca556f9d16743e3438db65350fd19d3cd10ddb6aabb1016db7f",
                **_MILLION_QUERY,
            ),
            Spec(
                "mq2008_list",
                "MQ2008-list",
                features=46,
                strict=True,
                stand_in=simulate.strict_list,
                names=("MQ2008-list",),
                bundles=("LETOR4.0", "LETOR4"),
                columns=columns.LETOR4,
                queries=784,
                documents=902_220,
            ),
            _mslr("mslr_web10k", "MSLR-WEB10K", 10_000, 1_200_192),
            _mslr("mslr_web30k", "MSLR-WEB30K", 31_531, 3_771_125),
            Spec(
                "artificial_net",
                "artificial, random net",
                features=50,
                levels=(0, 1, 2, 3, 4, 5),
                stand_in=partial(artificial, "net"),
                folds=1,
                made=True,
                artificial=True,
                note="ranknet2005's first task, as the paper specifies it",
            ),
            Spec(
                "artificial_poly",
                "artificial, random polynomial",
                features=50,
                levels=(0, 1, 2, 3, 4, 5),
                stand_in=partial(artificial, "poly"),
                folds=1,
                made=True,
                artificial=True,
                note="ranknet2005's second task, as the paper specifies it",
            ),
            Spec(
                "web",
                "commercial web search",
                features=46,  # as many as MQ2007, which stands in for it where it is at hand
                levels=(0, 1, 2, 3, 4, 5),
                stand_in=partial(simulate.web, features=46),
                folds=1,
                made=True,
                note="stands for the data of two commercial search engines, which were never published",
            ),
            Spec(
                "aol",
                "AOL",
                features=140,
                levels=(0, 0.5, 1, 1.5, 2, 2.5, 3),
                stand_in=simulate.aol,
                folds=1,
                made=True,
                note="stands for energyndcg2011's set of AOL clicks, which was never published",
            ),
        )
    }
)


def own_spec(name: str, settings: Mapping[str, Any], root: Path) -> Spec:
    """A data set that config.yaml gives a path to: one of a user's own, or a known one that lies elsewhere."""
    path = root / Path(settings["path"]).expanduser()
    if not path.exists():
        raise ReplirankError(
            f"data set {name!r}: there is no {path}", path="config.yaml", remedy=f"correct datasets: {name}: path:"
        )
    if name in SPECS:
        return replace(SPECS[name], path=path)
    return Spec(
        name,
        settings.get("title", name),
        features=None,
        path=path,
        folds=None,
        cut_into=settings["folds"],
        normalize=settings["normalize"] == "query",
        columns=columns.columns(**settings.get("columns", {})),
    )


def spec(name: str) -> Spec:
    """What is known of the data set with this id."""
    try:
        return SPECS[name]
    except KeyError:
        raise ReplirankError(f"unknown data set {name!r}", remedy=f"known are {', '.join(SPECS)}") from None
