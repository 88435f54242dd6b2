"""Lineups of an api process: for how long what was ranked in one of them may be kept."""

from types import SimpleNamespace

from core.mixture_weights import Weights
from service.ranking.trained.folded_items import FoldedItems
from service.ranking.trained.later_items import LaterItems
from service.served_models import ActiveSet
from service.serving.lineups import EPOCH_S, Lineups


class Shop:
    """Lineups of a shop without models, at a time that a test sets."""

    def __init__(self):
        self.now = 100.0
        self.weights = SimpleNamespace(current=Weights(), records=())
        models, later = SimpleNamespace(current=ActiveSet()), SimpleNamespace(current=LaterItems())
        folded = SimpleNamespace(current=FoldedItems())
        self._lineups = Lineups(models, self.weights, later, folded, [], clock=lambda: self.now)

    def epoch_after(self, seconds, *, changed=False):
        self.now += seconds
        if changed:
            self.weights.current = Weights()
        return self._lineups.current(0).epoch


def test_an_epoch_holds_while_counts_and_weights_move_on():
    shop = Shop()
    first = shop.epoch_after(0.0, changed=True)
    assert shop.epoch_after(0.5 * EPOCH_S, changed=True) == first
    assert shop.epoch_after(0.6 * EPOCH_S, changed=True) != first


def test_what_changed_within_an_epoch_counts_after_it_though_nothing_else_changes():
    shop = Shop()
    first = shop.epoch_after(0.0, changed=True)
    assert shop.epoch_after(1.0, changed=True) == first
    second = shop.epoch_after(EPOCH_S)
    assert second != first
    # nothing has changed since: what is kept is right
    assert shop.epoch_after(10 * EPOCH_S) == second
