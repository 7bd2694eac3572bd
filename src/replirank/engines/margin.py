"""Large margins by cutting planes: minimise ||w||^2 / 2 + C R(w) for a convex risk R that is known by its tangents.

Joachims' cutting planes (2006) with the line search of Franc and Sonnenburg's OCAS (2008): each round solves the
problem with R replaced by the largest of the tangents seen so far, which bounds the optimum from below, walks from the
best weights towards that solution as far as the true objective falls, and adds the tangent met there. The gap between
the two bounds certifies the answer. Tangents do not depend on C, so a path of C values shares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from replirank.errors import ReplirankError


class Risk(Protocol):
    """A convex, piecewise linear risk R >= 0."""

    halvings: int  # of the step in the line search

    def tangent(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """R(w) and a subgradient there."""

    def slope(self, w: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        """t -> the slope of R at w + t direction, along the direction."""


class Planes:
    """The tangents seen so far: R(w) >= offset + gradient . w for each of them; the first one is R >= 0."""

    def __init__(self, features: int):
        self.gradients = np.zeros((1, features))
        self.offsets = np.zeros(1)
        self.gram = np.zeros((1, 1))

    def add(self, value: float, gradient: np.ndarray, w: np.ndarray) -> None:
        products = np.append(self.gradients @ gradient, gradient @ gradient)
        self.gram = np.block([[self.gram, products[:-1, None]], [products[None, :]]])
        self.gradients = np.vstack([self.gradients, gradient])
        self.offsets = np.append(self.offsets, value - gradient @ w)


class Margin(NamedTuple):
    w: np.ndarray
    objective: float
    lower_bound: float
    rounds: int


def maximise_margin(
    risk: Risk, C: float, planes: Planes, *, gap: float = 1e-3, most_rounds: int = 2000, step: float = 0.1
) -> Margin:
    """Minimise ||w||^2 / 2 + C R(w) until the relative gap between objective and lower bound is at most `gap`."""
    best = np.zeros(planes.gradients.shape[1])
    value, gradient = risk.tangent(best)
    planes.add(value, gradient, best)
    objective = C * value
    weights = np.array([C], dtype=np.float64)  # of the planes; all on R >= 0, which is w = 0
    for rounds in range(1, most_rounds + 1):
        weights = np.pad(weights, (0, len(planes.offsets) - len(weights)))
        weights = simplex_quadratic(planes.gram, planes.offsets, weights)
        towards = -weights @ planes.gradients
        lower_bound = weights @ planes.offsets - towards @ towards / 2
        if objective - lower_bound <= gap * objective:
            return Margin(best, float(objective), float(lower_bound), rounds)
        best = _line_search(risk, C, best, towards)
        value, gradient = risk.tangent(best)
        planes.add(value, gradient, best)
        objective = best @ best / 2 + C * value
        ahead = (1 - step) * best + step * towards
        planes.add(*risk.tangent(ahead), ahead)
    raise ReplirankError(
        f"no margin found in {most_rounds} rounds for C = {C:g}: objective {objective:g}, lower bound {lower_bound:g}",
        remedy="take the largest values of C out of the grid in config.yaml, or scale the features",
    )


def _line_search(risk: Risk, C: float, start: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """The point of least objective on the ray from `start` through `towards`: doubling, then bisection of the slope."""
    direction = towards - start
    risk_slope = risk.slope(start, direction)

    def slope(t: float) -> float:
        return (start + t * direction) @ direction + C * risk_slope(t)

    if slope(0.0) >= 0:
        return start
    low, high = 0.0, 1.0
    while slope(high) < 0:
        low, high = high, 2 * high
    for _ in range(risk.halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return start + low * direction


# Not a general solver of quadratic problems: this one starts from the round before, which differs in two planes only.
def simplex_quadratic(gram: np.ndarray, linear: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Maximise linear . a - a gram a / 2 over a >= 0 with the sum of `start`, by active sets, from `start`."""
    a, total = start.copy(), start.sum()
    support = np.flatnonzero(a > 0)
    scale = np.trace(gram) / len(gram) or 1.0
    for _ in range(100 * len(a)):
        ridge = 1e-15 * scale * np.eye(len(support))  # tangents may repeat each other
        target = _on_support(gram[np.ix_(support, support)] + ridge, linear[support], total)
        if np.all(target >= 0):
            a[:] = 0
            a[support] = target
            slack = linear - gram @ a
            level = slack[support].mean()
            entering = int(np.argmax(slack))
            if slack[entering] - level <= 1e-9 * (abs(level) + np.abs(linear).max()) or entering in support:
                return a
            support = np.append(support, entering)
        else:
            shrinking = target < 0
            here = a[support]
            steps = here[shrinking] / (here[shrinking] - target[shrinking])
            first = int(np.argmin(steps))
            a[support] = np.maximum(here + steps[first] * (target - here), 0)
            leaving = np.flatnonzero(shrinking)[first]
            a[support[leaving]] = 0
            support = np.delete(support, leaving)
    raise ReplirankError("the quadratic problem of the cutting planes did not settle", remedy="please report this data")


def _on_support(gram: np.ndarray, linear: np.ndarray, total: float) -> np.ndarray:
    """The solution with only the sum constraint: gram a = linear - level, a summing to total."""
    count = len(linear)
    system = np.ones((count + 1, count + 1))
    system[:count, :count], system[count, count] = gram, 0
    return np.linalg.solve(system, np.append(linear, total))[:count]
