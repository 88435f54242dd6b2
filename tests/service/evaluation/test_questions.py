"""Files in order become questions: compared with loops over users, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from service.evaluation.questions import MOST, NEWEST, Division, exam
from service.files.ratings import Ratings


def ratings(rows):
    """Return rows (user, item, time) as a file."""
    users, items = (list(dict.fromkeys(row[at] for row in rows)) for at in (0, 1))
    return Ratings(
        user_ids=users,
        item_ids=items,
        user_ix=np.array([users.index(row[0]) for row in rows]),
        item_ix=np.array([items.index(row[1]) for row in rows]),
        rating=np.ones(len(rows)),
        timestamp_ms=np.array([row[2] for row in rows]),
    )


def sessions(n, length=4, prefix="s", n_items=9):
    return [
        (f"{prefix}{user}", f"i{(user * at + at) % n_items}", 10 * user + at)
        for user in range(n)
        for at in range(length)
    ]


def histories(rows):
    """Return the items of each user, oldest first; equal times keep their order."""
    ordered: dict[str, list[str]] = {}
    for user, item, _ in sorted(rows, key=lambda row: row[2]):
        ordered.setdefault(user, []).append(item)
    return ordered


def asked(part, ids):
    """Return the questions as (items before, item to predict)."""
    questions = part.questions
    return [
        ([ids[ix] for ix in questions.past(n)], ids[questions.targets[n]])
        for n in range(len(questions))
    ]


rows_of_users = st.lists(
    st.tuples(
        st.integers(0, 25).map("u{}".format), st.integers(0, 7).map("i{}".format), st.integers(0, 9)
    ),
    max_size=150,
).map(lambda rows: rows + [(f"v{user}", f"i{at}", at) for user in range(10) for at in range(3)])
"""Events of some users, and of ten more with three new items each: enough to choose by."""


@given(rows_of_users)
def test_the_last_event_is_predicted_and_the_one_before_it_chooses(rows):
    train = ratings(rows)
    papers = exam(train, None, Division(repeats=True))
    expected, before = [], []
    for user in train.user_ids:
        own = histories(rows)[user]
        if len(own) > 1:
            expected.append((own[:-1], own[-1]))
        if len(own) > 2:
            before.append((own[:-2], own[-2]))
    assert asked(papers.testing, train.item_ids) == expected
    assert asked(papers.choosing, train.item_ids) == before
    assert papers.testing.learned.item_ix.size == len(rows) - len(expected)
    assert papers.choosing.learned.item_ix.size == len(rows) - len(expected) - len(before)


@given(rows_of_users)
def test_an_item_that_was_seen_is_no_question_unless_it_may_come_again(rows):
    every = exam(ratings(rows), None, Division(repeats=True)).testing
    papers = exam(ratings(rows), None, Division())
    pairs = zip(every.questions.targets, map(every.questions.past, range(MOST)), strict=False)
    new = sum(target not in past for target, past in pairs)
    assert len(papers.testing.questions) == new
    assert papers.repeated == len(every.questions) - new


@pytest.mark.parametrize("first", [0, 1, 3])
def test_each_event_of_a_new_session_is_predicted_from_those_before_it(first):
    test = sessions(3, 5, prefix="t")
    train, held = ratings(sessions(200)), ratings(test)
    papers = exam(train, held, Division("prefixes", first, repeats=True))
    expected = [
        (own[:at], own[at]) for own in histories(test).values() for at in range(first, len(own))
    ]
    names = [*train.item_ids, *(i for i in held.item_ids if i not in train.item_ids)]
    assert asked(papers.testing, names) == expected
    # the newest sessions of the training choose, and are not learned meanwhile
    newest = list(histories(sessions(200)).values())[-round(NEWEST * 200) :]
    chosen = [(own[:at], own[at]) for own in newest for at in range(first, len(own))]
    assert asked(papers.choosing, names) == chosen
    assert papers.choosing.learned.item_ix.size == 4 * (200 - len(newest))
    assert papers.testing.learned.item_ix.size == 800


def test_sessions_of_two_files_are_others_even_if_they_have_the_same_names():
    train, test = ratings(sessions(200)), replace(ratings(sessions(3, 5)), of_sessions=True)
    papers = exam(train, test, Division("prefixes", repeats=True))
    expected = [
        (own[:at], own[at]) for own in histories(sessions(3, 5)).values() for at in range(1, 5)
    ]
    assert asked(papers.testing, train.item_ids) == expected
    assert papers.choosing.learned.item_ix.size < 800


def test_test_events_of_known_users_follow_their_training_events():
    train, test = sessions(20), [(f"s{user}", "new", 0) for user in range(20)]
    # although the test file's times are earlier
    expected = [(own, "new") for own in histories(train).values()]
    with pytest.raises(DataError, match="no item to predict is in the training file"):
        exam(ratings(train), ratings(test), Division())
    test[0] = ("s0", "i8", 0)
    papers = exam(ratings(train), ratings(test), Division(repeats=True))
    names = [*ratings(train).item_ids, "new"]
    assert asked(papers.testing, names)[1:] == expected[1:]
    assert len(papers.choosing.questions) == 20


def test_ties_are_in_file_order_or_random():
    rows = [(f"u{user}", f"i{item}", 7) for user in range(20) for item in range(6)]
    in_order = exam(ratings(rows), None, Division())
    assert set(asked(in_order.testing, ratings(rows).item_ids)[3][0]) == {f"i{n}" for n in range(5)}
    assert {target for _, target in asked(in_order.testing, ratings(rows).item_ids)} == {"i5"}
    drawn = [exam(ratings(rows), None, Division(ties="random", seed=s)) for s in (1, 1, 2)]
    targets = [one.testing.questions.targets.tolist() for one in drawn]
    assert targets[0] == targets[1] != targets[2]
    assert len(set(targets[0])) > 1


def test_of_many_questions_a_sample_chooses():
    rows = [(f"u{user}", f"i{at}", at) for user in range(MOST + 50) for at in range(3)]
    assert len(exam(ratings(rows), None, Division()).choosing.questions) == MOST


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "x", 1), ("b", "y", 2)], "nothing to predict"),
        (sessions(4, 3), "give at least 10 users with three events"),
    ],
)
def test_too_little_is_refused_in_words(rows, words):
    with pytest.raises(DataError, match=words):
        exam(ratings(rows), None, Division(repeats=True))
