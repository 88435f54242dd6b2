"""Lineups of an api process, and what the lists made in them stand on."""

from types import SimpleNamespace

from core.mixture_weights import Weights
from service.ranking.trained.folded_items import FoldedItems
from service.ranking.trained.later_items import LaterItems
from service.served_models import ActiveSet
from service.serving.lineups import Lineups
from tests.rankers import fold_in, order


class Shop:
    """Lineups of a shop without models, which a test changes."""

    def __init__(self):
        self.weights = SimpleNamespace(current=Weights(), records=())
        self.models = SimpleNamespace(current=ActiveSet(), coming=ActiveSet())
        self.later = SimpleNamespace(current=LaterItems())
        folded = SimpleNamespace(current=FoldedItems())
        counted = SimpleNamespace(rankers=lambda partition: [order("popular", [3, 1])])
        states = [SimpleNamespace(current=counted)]
        self._lineups = Lineups(self.models, self.weights, self.later, folded, states)

    @property
    def ahead(self):
        return self._lineups.ahead(0).basis

    @property
    def basis(self):
        return self._lineups.current(0).basis

    def basis_of(self, **versions):
        return self._lineups.of_versions(0, versions).basis


def model(version, strategy="fbgd"):
    return SimpleNamespace(
        record=SimpleNamespace(version=version, strategy=strategy),
        ranker=fold_in(4, strategy=strategy),
    )


def test_a_page_without_a_context_goes_on_in_the_current_lineup():
    shop = Shop()
    names = ("fbgd", "ocmf", "here")
    shop.models.current = ActiveSet({name: model(f"{name}-0", name) for name in names})
    assert shop.basis_of(fbgd="fbgd-0", ocmf="ocmf-0") is shop.basis
    assert shop.basis_of(fbgd="fbgd-0", ocmf="ocmf-0", here="here-0") is shop.basis
    assert shop.basis_of(fbgd="fbgd-0") is not shop.basis


def test_a_basis_says_which_of_its_parts_has_changed():
    shop = Shop()
    first = shop.basis
    assert shop.basis is first
    assert first.n_events == 9
    shop.weights.current = Weights()
    second = shop.basis
    assert second.number != first.number
    assert (second.models, second.later) == (first.models, first.later)
    shop.later.current = LaterItems(rankers={"v": order("popular", [])})
    third = shop.basis
    assert (third.models, third.later != second.later) == (first.models, True)
    shop.models.current = ActiveSet()
    assert shop.basis.models == first.models
    shop.models.coming = ActiveSet({"fbgd": model("v2")})
    ahead = shop.ahead
    assert ahead.models != first.models == shop.basis.models
    assert shop.ahead is ahead
    shop.models.current = shop.models.coming
    assert shop.basis.models == ahead.models
    assert shop.basis.number > ahead.number
