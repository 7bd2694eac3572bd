"""Every kind of model, so that a stored one can be loaded without knowing who made it."""

from replirank.models.linear import Linear
from replirank.models.two_layer import TwoLayer

__all__ = ["Linear", "TwoLayer"]
