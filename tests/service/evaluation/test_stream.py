"""The whole loop on a file: it judges as the follower does, and knows nothing of the future."""

import numpy as np
import pytest

from core.errors import ConfigError, DataError
from core.meaning import EventMeanings
from service import configs
from service.configs import kind_table
from service.evaluation.stream.events import read_events
from service.evaluation.stream.learner import StreamLearner
from service.evaluation.stream.loop import Loop, Schedule, meanings_of, namespace_of
from service.evaluation.stream.training import PastHistories, Trainings
from service.settings import KINDS, Settings
from service.store.profiles.history_reader import HistoryReader
from service.training.data.reading import read
from tests.feed import some_ratings
from tests.histories import Record, store_histories
from tests.judging import judged
from tests.streams import OF_KINDS, RATED, rounds, write

SETTINGS = Settings()


def events_of(path, **options):
    return read_events(path, KINDS, **options)


def loop_of(events, families=(), settings=SETTINGS, **schedule):
    trainings = Trainings(
        events, meanings_of(events, settings), families, budget_s=0.0, seed=schedule.get("seed", 0)
    )
    return Loop(events, trainings, settings, Schedule(**schedule))


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    return write(tmp_path_factory.mktemp("ring") / "ring.csv", rounds())


def test_the_ranks_are_those_of_the_follower(eager_learner, feed, eager, tmp_path):
    told = some_ratings(400, items=30)
    path = write(tmp_path / "told.csv", ((e.user, e.item, e.value) for e in told))
    events = events_of(path)
    for event, time_ms in zip(told, events.time_ms.tolist(), strict=True):
        event.time_ms = time_ms
    followed = judged(eager_learner, feed, eager, told)
    loop = loop_of(events, settings=eager, warm=0.25, sample=1_000, view_every=1)
    found = {one.question.event + 1: one.verdict for one in loop.run() if not one.question.first}
    assert len(found) > 50
    assert found.keys() == {sequence for sequence in followed if sequence > 100}
    for sequence, verdict in found.items():
        assert verdict.ranks == followed[sequence].ranks
        assert verdict.combined.keys() >= followed[sequence].combined.keys()
        assert verdict.n_known == followed[sequence].n_known


def test_nothing_is_learned_before_it_is_judged(ring, tmp_path):
    rows = rounds()
    end = len(rows) * 3 // 4
    rng = np.random.default_rng(0)
    other = [(user, f"i{rng.integers(60)}", 5) for user, *_ in rows[end:]]
    changed = write(tmp_path / "changed.csv", [*rows[:end], *other])
    told = []
    for path in (ring, changed):
        schedule = {"warm": 0.5, "retrain_every": 0.1, "sample": 9_999}
        loop = loop_of(events_of(path), ("fbgd", "sequence"), **schedule)
        told.append(
            {
                one.question.event: (one.verdict.ranks, one.verdict.mixed)
                for one in loop.run()
                if one.question.event < end and not one.question.first
            }
        )
    assert len(told[0]) > 200
    assert told[0] == told[1]


def test_the_view_of_the_learner_does_not_depend_on_when_it_learned(ring):
    events = events_of(ring)
    views = []
    for cuts in ([1500], [1, 2, 700, 701, 1500]):
        config = configs.online_config(SETTINGS, namespace_of(events, 0))
        learner = StreamLearner(
            events, SETTINGS, meanings_of(events, SETTINGS), config, view_every=1
        )
        for cut in cuts:
            learner.learn(cut)
        views.append((learner.view(), learner.row(3)))
    (one, row), (other, same) = views
    assert one.watermark == 1500
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.transitions.entries.weight, other.transitions.entries.weight)
    np.testing.assert_array_equal(row, same)


def test_trainings_read_histories_as_the_trainer_reads_them(client, namespace, tmp_path):
    rows = rounds(users=60, items=30)
    events = events_of(write(tmp_path / "rows.csv", rows))
    through = 600
    told = [
        Record(events.user_ids[u], int(i), float(v), time_ms=int(t))
        for u, i, v, t in zip(
            events.user[:through],
            events.item[:through],
            events.value[:through],
            events.time_ms[:through],
            strict=True,
        )
    ]
    stored = HistoryReader(client, store_histories(client, Settings(namespace=namespace), told))
    found, wanted = (
        read(source, EventMeanings(kind_table(SETTINGS)), with_documents=False, with_order=True)
        for source in (PastHistories(events, through), stored)
    )
    assert found.cut == wanted.cut
    assert found.sequences == wanted.sequences
    assert len(found.now.pairs) == len(wanted.now.pairs) == through
    # users have other numbers, since the store has an order of its own
    np.testing.assert_array_equal(found.now.pairs.item_counts, wanted.now.pairs.item_counts)
    assert sorted(map(tuple, map(found.now.steps.of, range(60)))) == sorted(
        map(tuple, map(wanted.now.steps.of, range(60)))
    )


# --- files ----------------------------------------------------------------------------------------


def test_events_are_sorted_by_time_and_items_numbered_as_they_appear(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(f"{RATED}\nann,b,5,30\nann,a,1,10\nbob,b,4,20\neve,c,2,20\n")
    events = events_of(path)
    assert [events.item_ids[n] for n in events.item] == ["a", "b", "c", "b"]
    assert events.item.tolist() == [0, 1, 2, 1]
    assert events.history(0, 3)["item"].tolist() == [0]
    assert events.history(0, 4)["item"].tolist() == [0, 1]
    assert (events.scale.low, events.scale.high) == (1.0, 5.0)


def test_random_ties_shuffle_only_events_of_the_same_time(ring):
    together = ring.with_name("together.csv")
    write(together, rounds(), seconds=0)
    shuffled = [events_of(together, ties="random", seed=seed).item.tolist() for seed in (0, 0, 1)]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    assert events_of(ring, ties="random").user.tolist() == events_of(ring).user.tolist()


def test_a_kind_says_what_an_event_means_and_impressions_are_left_out(tmp_path):
    rows = [("ann", "a", "view"), ("ann", "b", "impression"), ("bob", "c", "dislike")]
    events = events_of(write(tmp_path / "kinds.csv", rows, OF_KINDS))
    assert events.kind.tolist() == [KINDS["view"].code, KINDS["dislike"].code]
    assert events.item_ids == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("user,item,rating\na,x,5\n", DataError, "no column timestamp"),
        ("user,item,kind,timestamp\na,x,vieww,1\n", DataError, "line 2: there is no kind 'vieww'"),
        ("user,item,kind,timestamp\na,x,view,1\na,x,,2\n", DataError, "line 3: it has neither"),
        ("user,item,rating,kind,timestamp\na,x,5,view,1\n", DataError, "line 2: it has both"),
        (f"{RATED}\na,x,5,1\na,y,5,2\n", ConfigError, "all ratings are 5"),
    ],
)
def test_a_file_that_is_no_stream_is_refused(tmp_path, text, error, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(error, match=words):
        events_of(path)
