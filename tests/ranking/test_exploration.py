"""New items in slates: where, which, for whom, and never against what a request says."""

from dataclasses import dataclass

import msgspec
import numpy as np
import pytest

from core.affinity import described
from service.ranking.asker import NOBODY
from service.ranking.pool import Pool
from service.ranking.slates.exploration import KEPT_PLACES, Exploration, NewItems
from service.ranking.slates.new_items import ENOUGH_SHOWINGS, FEW_EVENTS, MOST_NEW, Said, new_items
from service.ranking.slates.slate import Slate, slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import EXPLORE
from tests.rankers import asker, everything, fold_in, lineup, no_categories

OLD, ALL = 60, 100
"""Items below OLD have events; the others are new. Item i is of the kind i modulo 4."""


def fresh() -> NewItems:
    kind = (np.arange(ALL) % 4).astype(np.int32)
    known = described(np.arange(ALL), kind, ALL, 4, (np.arange(ALL) < OLD).astype(np.float64))
    items = np.arange(OLD, ALL, dtype=np.int32)
    return NewItems(items, np.ones(items.size, np.float32), known)


@dataclass
class Shown:
    """Slates of a shop with new items."""

    share: float = 0.3

    def __call__(self, wanted: Wanted, liked: list[int] = [1, 5], **more: object) -> Slate:  # noqa: B006
        pool = more.pop("pool", everything(ALL))
        served = more.pop("made_of", lineup(fold_in(OLD), popular=list(range(OLD))))
        given = {"new": fresh(), "share": self.share, "seed": 0, "who": "ada", "hour": 3} | more
        return slate(
            served,  # type: ignore[arg-type]
            asker(liked) if liked else NOBODY,
            pool,  # type: ignore[arg-type]
            wanted,
            lambda items: [["kind"] for _ in items],
            exploration=Exploration(**given),  # type: ignore[arg-type]
        )


def new(made: Slate) -> list[int]:
    return [pick.item for pick in made.picks if pick.strategy == EXPLORE]


def test_new_items_take_about_their_share_of_the_places_after_the_first() -> None:
    lists = [Shown(0.1)(Wanted(23), hour=hour) for hour in range(300)]
    assert np.mean([len(new(one)) for one in lists]) == pytest.approx(2.0, abs=0.25)
    for one in lists:
        assert EXPLORE not in [pick.strategy for pick in one.picks[:KEPT_PLACES]]
        assert len({pick.item for pick in one.picks}) == 23
        assert all(item >= OLD for item in new(one))
    assert {len(new(one)) for one in lists} > {0, 1}


def test_the_same_asker_sees_the_same_within_an_hour() -> None:
    one, again = (Shown()(Wanted(20)) for _ in range(2))
    assert one.picks == again.picks
    others = [
        Shown()(Wanted(20), **{name: 4 if name != "who" else "bob"}).picks
        for name in ("hour", "who", "seed")
    ]
    assert all(other != one.picks for other in others)


def test_what_makes_way_moves_down() -> None:
    without = Shown(0.0)(Wanted(40))
    made = Shown()(Wanted(40))
    kept = [pick.item for pick in made.picks if pick.strategy != EXPLORE]
    assert kept == [pick.item for pick in without.picks][: len(kept)]
    assert made.more == without.more


def test_pages_make_the_list() -> None:
    whole = [pick.item for pick in Shown()(Wanted(30)).picks]
    pages = [Shown()(Wanted(10, offset=offset)) for offset in (0, 10, 20)]
    assert [pick.item for page in pages for pick in page.picks] == whole
    assert list(pages[1].skipped) == whole[:10]


def test_a_new_item_that_is_ranked_high_moves_no_further_down() -> None:
    # rankers rank the new items, too
    asked = {"made_of": lineup(fold_in(ALL), popular=list(range(ALL)))}
    for hour in range(20):
        ranked = [pick.item for pick in Shown(0.0)(Wanted(30), **asked).picks]
        made = Shown()(Wanted(30), hour=hour, **asked)
        old = [pick for pick in made.picks if pick.strategy != EXPLORE]
        moved = [pick.item for pick in made.picks if pick.strategy == EXPLORE]
        assert all(pick.item in ranked for pick in old)
        assert all(made.picks[n].item == item for n, item in enumerate(ranked[:KEPT_PLACES]))
        for place, pick in enumerate(made.picks):
            if pick.item in moved and pick.item in ranked:
                assert place <= ranked.index(pick.item) + len(moved)
        pages = [Shown()(Wanted(10, offset=at), hour=hour, **asked) for at in (0, 10, 20)]
        assert [pick.item for page in pages for pick in page.picks] == [
            pick.item for pick in made.picks
        ]


def test_they_fit_the_asker() -> None:
    found = [item for hour in range(50) for item in new(Shown()(Wanted(20), hour=hour))]
    kinds = np.bincount(np.array(found) % 4, minlength=4) / len(found)
    assert kinds[1] > 2 * max(kinds[[0, 2, 3]])
    anybody = [item for hour in range(50) for item in new(Shown()(Wanted(20), [], hour=hour))]
    assert len(set(anybody)) > 30


def test_what_was_shown_often_makes_way_for_what_was_not() -> None:
    shown = fresh()
    doubt = np.where(shown.items % 8 < 4, 0.1, 1.0).astype(np.float32)
    seen = msgspec.structs.replace(shown, doubt=doubt)
    found = [i for hour in range(50) for i in new(Shown()(Wanted(20), [], new=seen, hour=hour))]
    assert np.mean(np.array(found) % 8 >= 4) > 0.7


@pytest.mark.parametrize(
    "wanted",
    [Wanted(20, model="fbgd"), Wanted(20, model="popular"), Wanted(20, max_per_category=20)],
)
def test_a_request_that_says_what_to_rank_gets_that(wanted: Wanted) -> None:
    assert not new(Shown(0.9)(wanted))


def test_a_model_that_an_experiment_chose_leaves_new_items_their_places() -> None:
    assert new(Shown(0.9)(Wanted(20, model="popular", assigned=True)))


def test_only_what_the_pool_has() -> None:
    allowed = np.arange(ALL) != 70
    none = Pool(np.arange(ALL) < OLD)
    listed = Pool(np.ones(ALL, np.bool_), candidates=np.arange(OLD, ALL, dtype=np.int32))
    short = Pool(np.ones(OLD + 5, np.bool_))
    assert not new(Shown(0.9)(Wanted(20), pool=none))
    assert not new(Shown(0.9)(Wanted(20), pool=listed))
    assert max(new(Shown(0.9)(Wanted(20), pool=short))) < OLD + 5
    excluded = np.arange(71, ALL, dtype=np.int32)
    found = new(Shown(0.9)(Wanted(40), pool=Pool(allowed, excluded)))
    assert found
    assert set(found) <= set(range(OLD, 70))


def test_explanations_go_with_their_items() -> None:
    made = Shown()(Wanted(20, explain=True))
    assert made.because is not None
    assert len(made.because) == len(made.picks)
    assert all(
        not made.because[at] for at, pick in enumerate(made.picks) if pick.strategy == EXPLORE
    )


def test_nothing_new_changes_nothing() -> None:
    plain = slate(lineup(fold_in(OLD)), asker([1]), everything(ALL), Wanted(20), no_categories)
    none = Exploration(NewItems(), 0.9, 0)
    same = slate(
        lineup(fold_in(OLD)),
        asker([1]),
        everything(ALL),
        Wanted(20),
        no_categories,
        exploration=none,
    )
    assert plain.picks == same.picks


def said(n: int, opens: dict[int, int] | None = None) -> Said:
    """Return items of which every second is described."""
    item = np.arange(0, n, 2)
    opened = np.full(n, np.iinfo(np.int64).min)
    for number, moment in (opens or {}).items():
        opened[number] = moment
    return Said(item, np.zeros(item.size, np.int32), 1, opened)


def test_new_is_what_has_few_events_and_few_showings_and_is_described() -> None:
    events, showings = np.zeros(8), np.zeros(10)
    events[4], events[6], showings[8], showings[6] = FEW_EVENTS, 1.0, ENOUGH_SHOWINGS, 30
    allowed = np.arange(14) != 12
    found = new_items(said(14), allowed, events, showings)
    assert found.items.tolist() == [0, 2, 6, 10]
    assert found.doubt[2] < found.doubt[0] == 1.0


def test_of_too_many_the_newest_are_kept() -> None:
    n = 2 * MOST_NEW + 200
    found = new_items(said(n, {4: 7, 6: 8}), np.ones(n, np.bool_), np.zeros(0), np.zeros(0))
    assert found.items.size == MOST_NEW
    # a date says more than a number
    assert found.items[:3].tolist() == [4, 6, n - 2 * (MOST_NEW - 2)]
