"""Ordinal regression (QS3ORAO): levels, such as stars, from few labelled rows of features."""

from core.ordinal.config import OrdinalConfig
from core.ordinal.qs3orao import OrdinalModel, fit

__all__ = ["OrdinalConfig", "OrdinalModel", "fit"]
