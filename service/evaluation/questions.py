"""Files of events in order, divided into what is learned and what is predicted.

A question is an event whose item is to be predicted from the events before it. The questions for
choosing settings and weights come from the training part alone, and look like those of the test.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError
from core.interactions import Interactions, from_pairs
from core.steps import Steps, steps_of
from core.types import I32, I64
from service.files.ratings import Ratings

Protocol = Literal["last", "prefixes"]
Ties = Literal["file", "random"]
NEWEST = 0.07
"""Share of the training's sessions that choose settings and weights, if test sessions are new."""
FEWEST = 10
"""Fewest questions by which anything can be chosen."""
MOST = 8_000
"""Most questions by which settings and weights are chosen; of more, a sample is drawn."""


@dataclass(frozen=True, eq=False)
class Questions:
    """n events to predict: that at ``at``, from ``item_ix[start:at]``, oldest first."""

    item_ix: I32
    start: I64
    """(n,)"""
    at: I64
    """(n,)"""

    def __len__(self) -> int:
        return self.at.size

    def past(self, n: int) -> I32:
        """Return the items before a question, oldest first."""
        return self.item_ix[self.start[n] : self.at[n]]

    @property
    def targets(self) -> I32:
        """Return the item that came next, (n,)."""
        return self.item_ix[self.at]

    def keep(self, chosen: NDArray[Any]) -> "Questions":
        """Return some of the questions, by mask or by number."""
        return Questions(self.item_ix, self.start[chosen], self.at[chosen])

    def unseen(self) -> "Questions":
        """Return the questions whose item did not occur before."""
        new = [item not in self.past(n) for n, item in enumerate(self.targets)]
        return self.keep(np.array(new, np.bool_))


@dataclass(frozen=True, eq=False)
class Part:
    """Events to learn, and questions that are answered with what was learned."""

    learned: Steps
    questions: Questions

    @property
    def pairs(self) -> Interactions:
        """Return the pairs of users and items that were learned; the order is their time."""
        steps = self.learned
        time = np.arange(steps.item_ix.size) - np.repeat(
            steps.user_ptr[:-1], np.diff(steps.user_ptr)
        )
        return from_pairs(
            steps.user_ix,
            steps.item_ix,
            n_users=steps.n_users,
            n_items=steps.n_items,
            time=time,
        )


@dataclass(frozen=True)
class Division:
    """How files become questions."""

    protocol: Protocol = "last"
    first: int = 1
    """First position of a test session that is predicted, if all prefixes are."""
    repeats: bool = False
    ties: Ties = "file"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Exam:
    """The part for choosing settings and weights, which the part for testing contains."""

    choosing: Part
    testing: Part
    repeated: int
    """Number of test questions left out, because their item was seen and nothing may repeat."""


def exam(train: Ratings, test: Ratings | None, division: Division) -> Exam:
    """Return both parts; raise DataError if nothing would be left to predict or to choose by."""
    rng = np.random.default_rng(division.seed)
    whole, began = _steps(train, division.ties, rng)
    if test is None:
        testing = _last(whole)
        choosing = _last(testing.learned)
    else:
        testing, known = _of_file(train, test, division, rng)
        choosing = _last(whole) if known else _newest(whole, began, division)
    asked, tried = testing.questions, choosing.questions
    if not division.repeats:
        asked, tried = asked.unseen(), tried.unseen()
    _check(asked, tried, whole.n_items)
    if len(tried) > MOST:
        tried = tried.keep(np.sort(rng.permutation(len(tried))[:MOST]))
    repeated = len(testing.questions) - len(asked)
    return Exam(Part(choosing.learned, tried), Part(testing.learned, asked), repeated)


def _check(asked: Questions, tried: Questions, n_items: int) -> None:
    if not len(asked):
        raise DataError(
            "there is nothing to predict: give users or sessions with two different items"
        )
    if not (asked.targets < n_items).any():
        raise DataError(
            "no item to predict is in the training file: check that both write ids alike"
        )
    if len(tried) < FEWEST:
        raise DataError(
            f"the training file has {len(tried)} events by which to choose settings and weights: "
            f"give at least {FEWEST} users with three events"
        )


def _steps(ratings: Ratings, ties: Ties, rng: np.random.Generator) -> tuple[Steps, I64]:
    """Return the events in order, and when each user's first event was."""
    order, n_users = _times(ratings), len(ratings.user_ids)
    at = np.arange(order.size) if ties == "file" else rng.permutation(order.size)
    began = np.full(n_users, np.iinfo(np.int64).max)
    np.minimum.at(began, ratings.user_ix, order)
    steps = steps_of(
        ratings.user_ix[at],
        ratings.item_ix[at],
        order[at],
        n_users=n_users,
        n_items=len(ratings.item_ids),
    )
    return steps, began


def _times(ratings: Ratings) -> I64:
    if ratings.timestamp_ms is None:
        raise DataError("no column timestamp or position: the order of the rows is needed")
    return ratings.timestamp_ms


def _last(steps: Steps) -> Part:
    """Ask for the last event of each user who has another; learn the rest."""
    counts = np.diff(steps.user_ptr)
    asked = counts > 1
    questions = Questions(steps.item_ix, steps.user_ptr[:-1][asked], steps.user_ptr[1:][asked] - 1)
    learned = np.ones(steps.item_ix.size, np.bool_)
    learned[questions.at] = False
    return Part(kept(steps, learned), questions)


def _newest(steps: Steps, began: I64, division: Division) -> Part:
    """Ask about the newest sessions; learn the others."""
    n = max(round(NEWEST * steps.n_users), 1)
    newest = np.argsort(began, kind="stable")[-n:]
    asked = np.zeros(steps.n_users, np.bool_)
    asked[newest] = True
    questions = _questions(steps, asked[steps.user_ix], division)
    return Part(kept(steps, ~asked[steps.user_ix]), questions)


def _of_file(
    train: Ratings, test: Ratings, division: Division, rng: np.random.Generator
) -> tuple[Part, bool]:
    """Ask about the users of the test file; tell whether training knows most of them."""
    # a session is whole in its file, whatever the other file calls its own
    names = [] if test.of_sessions else train.user_ids
    users = {user: ix for ix, user in enumerate(names)}
    known = 2 * sum(user in users for user in test.user_ids) > len(test.user_ids)
    both, is_test = _joined(train, test, users)
    learned, _ = _steps(train, division.ties, rng)
    at = np.arange(is_test.size) if division.ties == "file" else rng.permutation(is_test.size)
    order = np.lexsort((_times(both)[at], is_test[at], both.user_ix[at]))
    steps = steps_of(
        both.user_ix[at][order],
        both.item_ix[at][order],
        n_users=len(both.user_ids),
        n_items=len(both.item_ids),
    )
    return Part(learned, _questions(steps, is_test[at][order], division)), known


def _joined(train: Ratings, test: Ratings, users: dict[str, int]) -> tuple[Ratings, NDArray[Any]]:
    """Return the events of both files with common numbers, and which are of the test.

    ``users`` are those of the training that a test user may be, by name.
    """
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    new = [user for user in test.user_ids if user not in users]
    users = users | {user: len(train.user_ids) + ix for ix, user in enumerate(new)}
    user_ix = np.array([users[user] for user in test.user_ids])
    item_ix = np.array([items.setdefault(item, len(items)) for item in test.item_ids])
    both = Ratings(
        user_ids=[*train.user_ids, *new],
        item_ids=list(items),
        user_ix=np.concatenate([train.user_ix, user_ix[test.user_ix]]),
        item_ix=np.concatenate([train.item_ix, item_ix[test.item_ix]]),
        rating=np.concatenate([train.rating, test.rating]),
        timestamp_ms=np.concatenate([_times(train), _times(test)]),
    )
    return both, np.repeat([False, True], [train.user_ix.size, test.user_ix.size])


def _questions(steps: Steps, asked: NDArray[Any], division: Division) -> Questions:
    """Return the questions among the marked events: all from ``first`` on, or the last ones."""
    user_ix, at = steps.user_ix, np.arange(steps.item_ix.size)
    of_user = np.flatnonzero(asked)
    users = user_ix[of_user]
    begins = np.searchsorted(users, users)
    position = np.arange(users.size) - begins
    if division.protocol == "last":
        ends = np.searchsorted(users, users, side="right")
        chosen = of_user[np.arange(users.size) == ends - 1]
        chosen = chosen[at[chosen] > steps.user_ptr[user_ix[chosen]]]
    else:
        chosen = of_user[position >= division.first]
    return Questions(steps.item_ix, steps.user_ptr[user_ix[chosen]], chosen)


def kept(steps: Steps, chosen: NDArray[Any]) -> Steps:
    """Return the chosen steps; users and items keep their numbers."""
    before = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
    return Steps(steps.n_items, before[steps.user_ptr], steps.item_ix[chosen], steps.weight[chosen])
