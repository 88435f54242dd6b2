"""Vectors of words, learned by fBGD from the words that stand beside them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.feature_map import unit_rows
from core.batch.weighting import unit_reg
from core.batch.words.cooccurrence import word_pairs
from core.search.bounds import check_bounds
from core.types import F32


@dataclass(frozen=True)
class WordsConfig:
    """Settings of one fit.

    >>> WordsConfig(factors=200).epochs
    10
    """

    factors: int = 64
    alpha0: float = 50.0
    """Total weight of the words that never stand beside a word, in units of ``unit_reg``."""
    rho: float = 0.8
    """Exponent that gives frequent words more of it."""
    reg: float = 0.5
    """In units of ``unit_reg``. The paper has none; it keeps rare pairs from counting too much."""
    epochs: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(self, counts=("factors", "epochs"), above_0=("alpha0", "reg"), shares=("rho",))


def fit_words(counts: sp.csr_array, config: WordsConfig = WordsConfig()) -> F32:
    """Return the vectors of words (n, g) by how often they stand beside each other, (n, n).

    A word's vector is that of the user who has its neighbours as items; it has length 1.

    Equation   argmin over P, Q of sum over all x, y of w_xy (r_xy - p_x.q_y)^2 + reg (|P|^2 +
               |Q|^2); r and w as in ``word_pairs`` where x and y stand together, else 0 and a_y,
               alpha0 in all, by frequency^rho                       [fBGD, eq. 2 and 22]
    """
    pairs = word_pairs(counts)
    if not len(pairs):
        return np.zeros((counts.shape[0], config.factors), np.float32)
    # in this unit, settings suit texts of any length
    unit = unit_reg(pairs)
    settings = FbgdConfig(
        factors=config.factors,
        alpha0=config.alpha0 * unit,
        rho=config.rho,
        reg=config.reg * unit,
        nu_user=0.0,
        nu_item=0.0,
        epochs=config.epochs,
        seed=config.seed,
    )
    vectors: Any = unit_rows(Fbgd(settings).fit(pairs).user_vectors(pairs))
    found: F32 = vectors
    return found
