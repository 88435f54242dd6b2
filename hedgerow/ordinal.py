"""Ordinal regression (QS3ORAO): levels, such as stars, from few labelled rows of features."""

from core.ordinal.config import OrdinalConfig
from core.ordinal.model import OrdinalModel
from core.ordinal.qs3orao import fit

__all__ = ["OrdinalConfig", "OrdinalModel", "fit"]
