"""LETOR's own baselines: the check that data, folds, metrics and solvers are right, before any paper is replicated."""

from replirank.papers.common import FIGURES, TABLES

__all__ = ["FIGURES", "TABLES"]
