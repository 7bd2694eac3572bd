"""Simulated stand-ins for data that cannot be had.

All of them are drawn from one model. A document has a few hidden traits. Its worth is a non-linear function of the
traits plus noise. A feature shows one trait, blurred and with a little of a second one, in the shape of a count, a
score, a rate or a flag; between these stand features that show nothing, repeat others, depend on the query alone or are
always zero. So a linear function of the features ranks well, a non-linear one better, and none is perfect.

Each set has its own `seed`: two sets of one shape and one seed are the same set. Nothing here uses BLAS, whose rounding
changes with the number of threads: the same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from replirank.data.arrays import Dataset, Fold, RankingData
from replirank.data.artificial import standardised
from replirank.data.columns import FIRST_TWO, GOV, LETOR4, MSLR
from replirank.data.folds import rotation, single_fold
from replirank.data.normalize import query_level_norm
from replirank.errors import ReplirankError

Lengths = float | Sequence[float]
"""Documents per query: the mean, or (shortest, longest), or (shortest, mean, longest)."""


WEB_SHARES = {1: 0.40, 2: 0.25, 3: 0.18, 4: 0.12, 5: 0.05}
MSLR_SHARES = {0: 0.52, 1: 0.323, 2: 0.133, 3: 0.017, 4: 0.007}

# How much each trait counts in the linear part of a document's worth.
WEIGHTS = (0.75, 0.4, 0.3, 0.25, 0.2, 0.15)
MATCH, AUTHORITY = 0, 5
TRAITS = len(WEIGHTS)

ROLES = {"plain": 0.60, "copy": 0.14, "useless": 0.10, "query": 0.08, "dead": 0.08}
SHAPES = ("score", "count", "rate", "flag")


# The sets


def letor(
    queries: int,
    documents: Lengths,
    features: int,
    shares: Mapping[int, float],
    folds: int = 5,
    *,
    seed: int,
    columns: Mapping[str, int] = FIRST_TWO,
    barren: float = 0.0,
    noise: float = 0.5,
    bend: float = 0.3,
    standout: float = 0.0,
) -> Dataset:
    """A set of LETOR's shape: features scaled to 0..1 in each query, a few levels, rotated folds.

    `shares` gives each level's share of the documents, `barren` the share of queries without a relevant document; every
    other query has one or more. `noise` is the part of the documents' worth that no feature shows, `bend` the part of
    the rest that is not linear, `standout` how far a query's best document is ahead of what its worth alone would show.
    """
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, queries, documents, noise=noise, bend=bend, standout=standout)
    labels = graded(crowd, shares, barren)
    return assemble(rng, crowd, labels, features, columns, rotation(queries, folds), normalised=True)


def gov(relevant: float, queries: int, documents: Lengths = 1000, *, seed: int, folds: int = 5) -> Dataset:
    """The .Gov sets of LETOR 3.0 (TD, HP, NP): `relevant` documents per query on average, one at least."""
    mean = mean_length(documents)
    # Nearly all of LETOR's lists were cut at the same length, so a mean alone means lists that hardly differ.
    lengths = documents if isinstance(documents, Sequence) else (int(0.9 * mean), mean, int(np.ceil(1.02 * mean)))
    # To find the one home page or named page is the easy task: published NDCG@10 is .8 there and .35 for topics (TD).
    manner = {"noise": 0.1, "bend": 0.2, "standout": 1.2} if relevant < 2 else {"noise": 0.3}
    shares = {0: 1 - relevant / mean, 1: relevant / mean}
    return letor(queries, lengths, 64, shares, folds, seed=seed, columns=GOV, **manner)


def web(queries: int, documents: Lengths, features: int, *, seed: int, unlabelled: float = 0.2) -> Dataset:
    """A commercial web set as in ranknet2005, section 6.1: ratings 1 to 5, and 0 for documents that nobody judged.

    `documents` counts both kinds. Features keep their raw scales. The split is 2/3, 1/6, 1/6.
    """
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, queries, documents, noise=0.3, bend=0.5)
    labels = unjudged(rng, crowd, graded(crowd, WEB_SHARES), unlabelled)
    folds = (single_fold(queries, (2 / 3, 1 / 6, 1 / 6)),)
    return assemble(rng, crowd, labels, features, web_columns(features), folds, normalised=False)


def mslr(queries: int, documents: Lengths, *, seed: int) -> Dataset:
    """A set of MSLR-WEB's shape: 136 features of raw scale, levels 0 to 4, five folds."""
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, queries, documents, noise=0.4, bend=0.4)
    labels = graded(crowd, MSLR_SHARES, barren=0.03)
    return assemble(rng, crowd, labels, 136, MSLR, rotation(queries, 5), normalised=False)


def aol(queries: int = 10_000, documents: Lengths = 14, features: int = 140, *, seed: int) -> Dataset:
    """Click data as in energyndcg2011, section V.B: levels 0, .5 .. 3 from click-through rates, split 40/20/40.

    The features are made in LETOR's way (the paper says so of most), hence scaled to 0..1 in each query.
    """
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, queries, documents, noise=0.2, bend=0.35)
    shown = ranks(crowd.worth + rng.standard_normal(crowd.documents), crowd)
    # Every query was asked more than 30 times; a few are asked very often.
    sessions = 31 + np.floor(60 * rng.exponential(size=queries) ** 2).astype(np.int64)
    attraction = sigmoid(1.6 * crowd.worth + crowd.ease[crowd.query_of] - 0.5)
    clicks = draw_clicks(rng, attraction, shown, sessions[crowd.query_of])
    labels = click_levels(clicks / sessions[crowd.query_of])
    folds = (single_fold(queries, (0.4, 0.2, 0.4)),)
    return assemble(rng, crowd, labels, features, web_columns(features), folds, normalised=True)


def strict_list(
    queries: int = 784,
    documents: Lengths = (204, 1831),
    features: int = 46,
    *,
    seed: int,
    columns: Mapping[str, int] = LETOR4,
) -> Dataset:
    """A set of MQ2008-list's shape: in each query the labels are a strict order 0 .. n - 1, n - 1 for the best.

    The real one has 902,220 documents: documents=(204, 902220 / 784, 1831).
    """
    rng = np.random.default_rng(seed)
    crowd = draw_crowd(rng, queries, documents, noise=0.1, bend=0.25)
    labels = crowd.lengths[crowd.query_of] - ranks(crowd.worth, crowd)
    return assemble(rng, crowd, labels, features, columns, rotation(queries, 5), normalised=True)


def web_columns(features: int) -> dict[str, int]:
    """The text matches come first, what depends on the document alone last."""
    return {"bm25": 0, "pagerank": features - 1}


# Queries and documents, and what they are worth


@dataclass(frozen=True, eq=False)
class Crowd:
    """The documents behind a set: what the features show and the labels were made from."""

    offsets: np.ndarray  # (queries + 1,) int64
    traits: np.ndarray  # (documents, TRAITS) float32
    worth: np.ndarray  # (documents,) float64: utility and noise
    ease: np.ndarray  # (queries,) float64: how readily a query's documents are called relevant

    @property
    def queries(self) -> int:
        return len(self.ease)

    @property
    def documents(self) -> int:
        return len(self.worth)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def query_of(self) -> np.ndarray:
        return np.repeat(np.arange(self.queries), self.lengths)


def draw_crowd(
    rng: np.random.Generator, queries: int, documents: Lengths, *, noise: float, bend: float, standout: float = 0.0
) -> Crowd:
    lengths = draw_lengths(rng, queries, documents)
    total = int(lengths.sum())
    traits = rng.standard_normal((total, TRAITS), dtype=np.float32)
    worth = np.sqrt(1 - noise) * utility(traits, bend) + np.sqrt(noise) * rng.standard_normal(total)
    ease = 0.5 * rng.standard_normal(queries)
    crowd = Crowd(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), traits, worth, ease)
    # Only what the features show moves: the best document is the best already.
    crowd.traits[best(crowd)] += np.float32(standout) * np.array(WEIGHTS, dtype=np.float32)
    return crowd


def draw_lengths(rng: np.random.Generator, queries: int, documents: Lengths) -> np.ndarray:
    """How many documents each query has: beta-distributed between the bounds, and exactly the mean on average."""
    shortest, mean, longest = length_bounds(documents)
    if shortest == longest:
        return np.full(queries, shortest)
    tilt = (mean - shortest) / (longest - shortest)
    # With a sum of 2 this is uniform when the mean is half way, and piles up at the nearer bound when it is not: of
    # MQ2008's 784 queries (5 to 121 documents, 19 on average) half have fewer than 9.
    drawn = rng.beta(2 * tilt, 2 * (1 - tilt), queries) if 0 < tilt < 1 else np.full(queries, tilt)
    lengths = np.rint(shortest + drawn * (longest - shortest)).astype(np.int64)
    while gap := round(mean * queries) - int(lengths.sum()):
        room = np.flatnonzero(lengths < longest if gap > 0 else lengths > shortest)
        lengths[rng.permutation(room)[: abs(gap)]] += np.sign(gap)
    return lengths


def length_bounds(documents: Lengths) -> tuple[int, float, int]:
    """(shortest, mean, longest); a mean alone lets the lengths run from a half of it to one and a half."""
    mean = mean_length(documents)
    ends = (
        (documents[0], documents[-1]) if isinstance(documents, Sequence) else (max(1, mean // 2), np.ceil(1.5 * mean))
    )
    shortest, longest = map(int, ends)
    if not 1 <= shortest <= mean <= longest:
        raise ReplirankError(
            f"no query can have {documents} documents", remedy="give a mean, or (shortest, mean, longest), of 1 or more"
        )
    return shortest, mean, longest


def mean_length(documents: Lengths) -> float:
    if isinstance(documents, Sequence):
        return documents[1] if len(documents) == 3 else sum(documents) / 2
    return documents


def utility(traits: np.ndarray, bend: float) -> np.ndarray:
    """What a document is worth by its traits: zero mean, unit variance, and of that about `bend` not linear.

    The bent part: authority counts only where the text matches, two traits count when they agree, and one (a length,
    say) is best when it is neither small nor large.
    """
    t = traits.T.astype(np.float64)
    straight = sum(weight * trait for weight, trait in zip(WEIGHTS, t, strict=True))
    bent = 1.5 * np.maximum(t[MATCH], 0) * t[AUTHORITY] + t[1] * t[2] - t[3] ** 2 / 2
    return standardised(np.sqrt(1 - bend) * standardised(straight) + np.sqrt(bend) * standardised(bent))


# Labels


def graded(crowd: Crowd, shares: Mapping[int, float], barren: float = 0.0) -> np.ndarray:
    """Levels in the given shares, worthier documents above; a share `barren` of the queries has the lowest level only.

    First it is settled who is above the lowest level: the best of every query that is not barren, then whoever is worth
    most. These then share out the upper levels by worth.
    """
    levels = sorted(shares)
    if not np.isclose(sum(shares.values()), 1):
        raise ReplirankError(f"the levels' shares {dict(shares)} do not add up to 1", remedy="make them add up to 1")
    ends = np.rint(np.cumsum([shares[level] for level in levels]) * crowd.documents).astype(np.int64)
    poor, relevant = ends[0], crowd.documents - ends[0]

    order = np.argsort(crowd.ease, kind="stable")
    hard, fertile = np.split(order, [round(barren * crowd.queries)])
    if not len(fertile) <= relevant <= crowd.lengths[fertile].sum():
        raise ReplirankError(
            f"{relevant} relevant documents cannot be had from {len(fertile)} of {crowd.queries} queries",
            remedy="change `barren` or the shares: a query that is not barren has one relevant document or more",
        )
    turn = np.zeros(crowd.documents, dtype=np.int8)
    turn[best(crowd)[fertile]] = 1
    turn[np.isin(crowd.query_of, hard)] = -1

    merit = crowd.worth + crowd.ease[crowd.query_of]
    chosen = np.lexsort((merit, turn))[poor:]
    labels = np.full(crowd.documents, levels[0], dtype=np.float32)
    labels[chosen[np.argsort(merit[chosen], kind="stable")]] = np.repeat(levels[1:], np.diff(ends))
    return labels


def unjudged(rng: np.random.Generator, crowd: Crowd, labels: np.ndarray, share: float) -> np.ndarray:
    """Labels 0 for the documents that nobody judged: the poorer ones mostly, but never a query's best.

    Judges were shown what ranked high, so the others are poorer on average; some of them are good all the same.
    """
    noticed = crowd.worth + 1.5 * rng.standard_normal(crowd.documents)
    noticed[best(crowd)] = np.inf
    missed = np.argsort(noticed, kind="stable")[: round(share * crowd.documents)]
    labels = labels.copy()
    labels[missed[np.isfinite(noticed[missed])]] = 0
    return labels


def ranks(values: np.ndarray, crowd: Crowd) -> np.ndarray:
    """Each document's place in its query, 1 for the highest value."""
    places = np.empty(crowd.documents, dtype=np.int64)
    places[np.lexsort((-values, crowd.query_of))] = np.arange(crowd.documents)
    return places - crowd.offsets[crowd.query_of] + 1


def best(crowd: Crowd) -> np.ndarray:
    """The row of each query's most worthy document."""
    return np.lexsort((-crowd.worth, crowd.query_of))[crowd.offsets[:-1]]


def draw_clicks(
    rng: np.random.Generator, attraction: np.ndarray, shown: np.ndarray, sessions: np.ndarray
) -> np.ndarray:
    """How often each document was clicked, by users who look at place k with probability k ** -0.7.

    A user who looks clicks if attracted. Only clicked documents came into the paper's set, so each has a click.
    """
    return np.maximum(rng.binomial(sessions, attraction * shown**-0.7), 1)


def click_levels(rates: np.ndarray) -> np.ndarray:
    """Click-through rates cut into seven intervals of equal size: levels 0, .5 .. 3.

    >>> click_levels(np.array([0.1, 0.15, 0.5, 1.0]))
    array([0. , 0.5, 1.5, 3. ], dtype=float32)
    """
    return (np.minimum(np.floor(7 * rates), 6) / 2).astype(np.float32)


# Features


@dataclass(frozen=True, eq=False)
class Views:
    """How each feature shows the traits; every array has one entry per feature, save the two of the copies."""

    trait: np.ndarray  # the trait shown; from TRAITS on: the query's own
    second: np.ndarray  # the trait that leaks in
    strength: np.ndarray
    leak: np.ndarray
    blur: np.ndarray
    copies: np.ndarray  # features that repeat another one in a shape of their own ...
    originals: np.ndarray  # ... and the ones they repeat
    shape: np.ndarray  # names from SHAPES
    spread: np.ndarray
    shift: np.ndarray
    scale: np.ndarray


def draw_views(rng: np.random.Generator, features: int, columns: Mapping[str, int]) -> Views:
    # BM25 of a single field may turn out to be anything.
    named = np.array(sorted(columns[name] for name in ("bm25", "pagerank") if name in columns), dtype=np.int64)
    if features < 1 or not all(0 <= column < features for column in columns.values()):
        raise ReplirankError(
            f"the columns {dict(columns)} are not all among {features} features", remedy="pass `columns` that are"
        )
    role = draw_roles(rng, features, named)
    trait, second = (rng.permutation(features) % TRAITS for _ in range(2))
    # One in eight runs the other way, as a URL's length does.
    strength = rng.uniform(0.4, 0.9, features) * np.where(rng.random(features) < 1 / 8, -1, 1)
    leak = rng.uniform(0, 0.4, features)
    shape = rng.choice(SHAPES, features, p=(0.45, 0.35, 0.12, 0.08))
    spread = rng.uniform(0.8, 1.8, features)
    shift = np.where(shape == "count", rng.uniform(-1, 4, features), rng.uniform(0, 1.5, features))
    scale = np.where(np.isin(shape, ("count", "flag")), 1, 10 ** rng.uniform(0, 1.5, features))

    if "bm25" in columns:
        k = columns["bm25"]
        trait[k], strength[k], leak[k], shape[k], shift[k], scale[k] = MATCH, 0.85, 0.1, "score", 1.5, 10
    if "pagerank" in columns:
        k = columns["pagerank"]
        trait[k], strength[k], leak[k], shape[k], shift[k], scale[k] = AUTHORITY, 0.7, 0.0, "count", 4, 1

    query = role == "query"
    trait[query] += TRAITS
    strength[query], strength[role == "useless"] = 1, 0
    leak[query | (role == "useless")] = 0
    scale[role == "dead"] = 0
    copies = np.flatnonzero(role == "copy")
    return Views(
        trait=trait,
        second=second,
        strength=strength.astype(np.float32),
        leak=leak.astype(np.float32),
        blur=np.sqrt(1 - strength**2 - leak**2).astype(np.float32),  # so that all have unit variance
        copies=copies,
        originals=rng.choice(np.flatnonzero(role == "plain"), len(copies)),
        shape=shape,
        spread=spread.astype(np.float32),
        shift=shift.astype(np.float32),
        scale=scale.astype(np.float32),
    )


def draw_roles(rng: np.random.Generator, features: int, named: np.ndarray) -> np.ndarray:
    """Roles in the shares of ROLES, in random places; a column with a name is a plain one."""
    places = (np.arange(features) + 0.5) / features
    role = np.array(list(ROLES))[np.searchsorted(np.cumsum(list(ROLES.values())), places)]
    role = rng.permutation(role)
    role[named] = "plain"
    return role


def draw_features(rng: np.random.Generator, crowd: Crowd, views: Views, *, normalised: bool) -> np.ndarray:
    """The features of all documents, made a few queries at a time so that no second matrix of their size is needed."""
    features = np.empty((crowd.documents, len(views.trait)), dtype=np.float32)
    # What raises or lowers a trait in all of a query's documents: it changes no order but blurs the scales.
    mood = rng.standard_normal((crowd.queries, TRAITS), dtype=np.float32)
    for queries in blocks(crowd.offsets, rows=2**18 // features.shape[1]):
        bounds = crowd.offsets[queries.start : queries.stop + 1]
        rows, starts = slice(bounds[0], bounds[-1]), bounds[:-1] - bounds[0]
        own = np.repeat(mood[queries], np.diff(bounds), axis=0)
        x = features[rows]
        rng.standard_normal(out=x, dtype=np.float32)
        show(np.hstack([crowd.traits[rows] + np.float32(0.4) * own, own]), views, x)
        if normalised:
            query_level_norm(x, starts)
    return features


def blocks(offsets: np.ndarray, rows: int) -> Iterator[slice]:
    """Queries in runs of about so many rows."""
    first, last = 0, len(offsets) - 1
    while first < last:
        stop = max(first + 1, int(np.searchsorted(offsets, offsets[first] + rows, side="right")) - 1)
        yield slice(first, stop)
        first = stop


def show(traits: np.ndarray, views: Views, x: np.ndarray) -> None:
    """Turn x from standard normal noise into features, in place."""
    x *= views.blur
    x += traits[:, views.trait] * views.strength
    x += traits[:, views.second] * views.leak
    x[:, views.copies] = x[:, views.originals]
    for name in SHAPES:
        of = np.flatnonzero(views.shape == name)
        x[:, of] = shaped(name, x[:, of], views.spread[of], views.shift[of]) * views.scale[of]


def shaped(name: str, x: np.ndarray, spread: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """A normal variable as something an index would hold: skewed, never negative, often zero."""
    match name:
        case "score":
            return np.maximum(x + shift, 0)
        case "count":
            return np.floor(np.exp(spread * x + shift))
        case "rate":
            return sigmoid(x)
        case _:  # flag
            return (x > shift).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# The data set


def assemble(
    rng: np.random.Generator,
    crowd: Crowd,
    labels: np.ndarray,
    features: int,
    columns: Mapping[str, int],
    folds: tuple[Fold, ...],
    *,
    normalised: bool,
) -> Dataset:
    data = RankingData(
        features=draw_features(rng, crowd, draw_views(rng, features, columns), normalised=normalised),
        labels=labels.astype(np.float32),
        offsets=crowd.offsets,
        query_ids=np.arange(1, crowd.queries + 1, dtype=np.int64),
        document_ids=document_ids(crowd.offsets),
        columns=dict(columns),
    )
    return Dataset(data, folds)


def document_ids(offsets: np.ndarray) -> np.ndarray:
    """SIM-<query>-<row>, both counted from 1, so that simulated data can be recognised for ever.

    >>> document_ids(np.array([0, 1, 3])).tolist()
    ['SIM-1-1', 'SIM-2-1', 'SIM-2-2']
    """
    lengths = np.diff(offsets)
    queries = np.repeat(np.arange(1, len(offsets)).astype(str), lengths)
    rows = np.arange(1, lengths.max() + 1).astype(str)[np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)]
    return np.strings.add(np.strings.add("SIM-", queries), np.strings.add("-", rows))
