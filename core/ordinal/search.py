"""Validation on the labelled rows: chooses kernel, regularisation and share of labelled pairs.

Each fold of the labelled rows is scored by a fit on the others, with the exact kernel in closed
form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.ordinal.closed_form import in_rows
from core.ordinal.config import GAMMAS
from core.ordinal.metrics import mean_auc
from core.ordinal.pairing import pairing
from core.ordinal.random_features import kernel_of
from core.ordinal.widths import find_widths
from core.types import F64, I64

FOLDS = 5
WIDTHS = tuple(2.0**power for power in range(-6, 4, 1))
"""Candidate kernel widths, the same for all features."""
SHARPER = (0.5, 1.0, 2.0)
"""Candidate multiples of the widths that the labelled rows suggest."""
REGS = tuple(2.0**power for power in range(-15, 0, 2))
LABELLED, UNLABELLED = 600, 400
"""Approximate largest numbers of rows of each kind; the cost grows with their cube."""


@dataclass(frozen=True)
class Trial:
    """One candidate setting: kernel, regularisation and share of labelled pairs.

    The kernel's widths are ``scale`` times the suggested ones, or times 1.
    """

    scale: float
    suggested: bool
    reg: float
    gamma: float = 1.0

    def widths(self, suggestion: F64) -> F64:
        """Return the kernel's width along each feature, (d,) f64."""
        widths: F64 = self.scale * (suggestion if self.suggested else np.ones_like(suggestion))
        return widths


@dataclass(frozen=True, eq=False)
class FoundSettings:
    """The best setting with its validation AUC.

    ``scores`` are those of rows with levels ``level`` that the fit of their fold had not seen.
    """

    widths: F64
    reg: float
    gamma: float
    auc: float
    scores: F64
    level: I64


@dataclass(frozen=True, eq=False)
class Fold:
    """A held-out fold; ``x`` holds the other rows, the unlabelled ones last."""

    x: F64
    group: I64
    levels: int
    held: F64
    level: I64
    suggestion: F64

    def scores(self, trials: Sequence[Trial]) -> Iterator[F64]:
        """Yield each trial's scores of the held-out rows; the trials must share one kernel."""
        widths = trials[0].widths(self.suggestion)
        last = len(self.x) if min(one.gamma for one in trials) < 1.0 else np.sum(self.group > 0)
        x, group = self.x[:last], self.group[:last]
        inner, outer = kernel_of(x, x, widths), kernel_of(self.held, x, widths)
        counts = np.bincount(group, minlength=self.levels + 1)
        for one in trials:
            weights = in_rows(inner, group, pairing(counts, one.gamma), one.reg)
            # The risk leaves a score's constant open; without this, folds would not be comparable.
            yield outer @ weights - float((inner @ weights)[group > 0].mean())


def search(
    x: F64, level: I64, unlabelled: F64, seed: int, gammas: Sequence[float] = GAMMAS
) -> FoundSettings:
    """Return the setting with the best validation AUC.

    Kernel and reg are chosen first, then the share of labelled pairs. ``x`` (n, d) and
    ``unlabelled`` (u, d) f64 in 0..1, ``level`` (n,) i64 from 1.
    """
    rng = np.random.default_rng([seed, 2])
    chosen = _some(level, rng)
    x, level = x[chosen], level[chosen]
    some = unlabelled[rng.permutation(len(unlabelled))[:UNLABELLED]]
    # Without a fold of at least two levels, validation is impossible.
    folds = list(_folds(x, level, some)) or [_fold(x, level, some, np.zeros(len(x), dtype=bool))]
    kernels = [(width, False) for width in WIDTHS] + [(width, True) for width in SHARPER]
    tried = [_tried(folds, [Trial(*kernel, reg) for reg in REGS]) for kernel in kernels]
    best, auc = max((pair for pairs in tried for pair in pairs), key=lambda pair: pair[1])
    if len(some):
        mixed = [
            replace(best, gamma=gamma, reg=best.reg * times)
            for gamma in gammas
            for times in (0.25, 1.0, 4.0)
        ]
        best, auc = max([(best, auc), *_tried(folds, mixed)], key=lambda pair: pair[1])
    scores = np.concatenate([next(fold.scores([best])) for fold in folds])
    widths = best.widths(find_widths(x, level.astype(np.float64)))
    held = np.concatenate([fold.level for fold in folds])
    return FoundSettings(widths, best.reg, best.gamma, auc, scores, held)


def _some(level: I64, rng: np.random.Generator) -> I64:
    """Return at most LABELLED random rows, but at least FOLDS of each level that has as many."""
    order = rng.permutation(len(level))
    ranked = level[order]
    few = [np.flatnonzero(ranked == one)[:FOLDS] for one in np.unique(level)]
    places = np.unique(np.concatenate([np.arange(min(LABELLED, len(order))), *few]))
    chosen: I64 = order[places]
    return chosen


def _folds(x: F64, level: I64, unlabelled: F64) -> Iterator[Fold]:
    """Yield the folds; rows are in random order and each level is spread over all folds."""
    part = np.empty(len(x), dtype=np.int64)
    part[np.argsort(level, kind="stable")] = np.arange(len(x)) % FOLDS
    for held in (part == number for number in range(FOLDS)):
        if len(np.unique(level[~held])) > 1 and held.any():
            yield _fold(x, level, unlabelled, held)


def _fold(x: F64, level: I64, unlabelled: F64, held: NDArray[np.bool_]) -> Fold:
    """Return the fold that holds out these rows; without any, all rows both train and test."""
    inside, group = x[~held], level[~held]
    scored = held if held.any() else ~held
    rest = np.concatenate([inside, unlabelled])
    groups = np.concatenate([group, np.zeros(len(unlabelled), dtype=np.int64)])
    suggestion = find_widths(inside, group.astype(np.float64))
    return Fold(rest, groups, int(level.max()), x[scored], level[scored], suggestion)


def _tried(folds: Sequence[Fold], trials: Sequence[Trial]) -> list[tuple[Trial, float]]:
    """Return each trial with its AUC, averaged over the folds that have at least two levels."""
    scored = [fold for fold in folds if len(np.unique(fold.level)) > 1]
    aucs = [[mean_auc(one, fold.level) for one in fold.scores(trials)] for fold in scored]
    means = np.mean(aucs, axis=0) if aucs else np.full(len(trials), 0.5)
    return list(zip(trials, means.tolist(), strict=True))
