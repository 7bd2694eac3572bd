"""The weighted sum of a document's places by each feature: DiffRank's H."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from replirank.data.places import scaled_places
from replirank.models.base import Model


@dataclass(frozen=True, eq=False)
class WeightedPlaces(Model):
    """H(x) = sum over m of alpha_m times x's place in its list by feature m, scaled to 0..1."""

    alphas: np.ndarray  # (features,)

    by_document: ClassVar[bool] = False  # a place depends on the whole list

    def score_query(self, features: np.ndarray) -> np.ndarray:
        return np.einsum("nd,d->n", scaled_places(features), self.alphas)
