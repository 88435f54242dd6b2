"""The online model by user and item ids: it keeps the rows that callers of core must keep."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ShapeError, StateMismatch
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.online.reports import ExpertReport, Learned, Predicted
from core.online.tables import ItemTable, RatingRows, Side, UserTable
from core.rng import id_hashes
from core.types import F32, I64

Table = TypeVar("Table", UserTable, ItemTable)
Arrays = dict[str, NDArray[Any]]

FEWEST_ROWS = 1024
"""Initial number of rows of a table, which doubles when it is full."""


class RatingPredictor:
    """Predictor of ratings that learns from each rating as it arrives: one pass, nothing to tune.

    Ids are compared as text. Ratings by new users and of new items are predicted, too.

    >>> from hedgerow.online import OnlineConfig, RatingPredictor
    >>> model = RatingPredictor(OnlineConfig(seed=1))
    >>> users, items = ["ada", "ada", "bob"] * 20, ["film", "book", "film"] * 20
    >>> before = model.learn(users, items, [5, 1, 5] * 20)  # the prediction before each rating
    >>> before.rating.shape
    (60,)
    >>> model.predict(["bob", "cleo"], ["film", "book"]).rating.round().tolist()
    [5.0, 2.0]
    """

    def __init__(self, config: OnlineConfig | None = None) -> None:
        self._model = OnlineModel(config or OnlineConfig())
        self._users = _Rows(self._model, Side.USER, self._model.user_table(FEWEST_ROWS))
        self._items = _Rows(self._model, Side.ITEM, self._model.item_table(FEWEST_ROWS))
        self._sequence = 0

    def learn(
        self, users: Sequence[object], items: Sequence[object], ratings: ArrayLike
    ) -> Learned:
        """Predict and then learn each of n ratings, in order; return the predictions."""
        given = np.asarray(ratings, np.float64)
        _check_sizes(users, items, given.shape)
        sequence = self._sequence + 1 + np.arange(given.size)
        user_ix, item_ix = self._users.numbered(users), self._items.numbered(items)
        rows = RatingRows(user_ix, item_ix, given, sequence)
        learned = self._model.learn(self._users.table, self._items.table, rows)
        self._sequence += given.size
        return learned

    def predict(self, users: Sequence[object], items: Sequence[object]) -> Predicted:
        """Predict the ratings of n pairs without changing the model."""
        _check_sizes(users, items, (len(users),))
        return self._model.predict(self._users.read(users), self._items.read(items))

    def experts(self) -> list[ExpertReport]:
        """Return a report on each expert."""
        return self._model.experts()

    def state(self) -> Arrays:
        """Return copies of everything learned, as named arrays for ``numpy.savez``."""
        shared = {f"model.{name}": array.copy() for name, array in self._model.arrays().items()}
        counted = {"sequence": np.array([self._sequence])}
        return shared | self._users.state("users") | self._items.state("items") | counted

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what ``state`` returned; StateMismatch if the configuration differs."""
        shared = {k: v for k, v in state.items() if k.startswith("model.")}
        self._model.load({name.removeprefix("model."): array for name, array in shared.items()})
        self._users.restore("users", state)
        self._items.restore("items", state)
        self._sequence = int(state["sequence"][0])


class _Rows(Generic[Table]):
    """The rows of one side (users or items), by id."""

    def __init__(self, model: OnlineModel, side: Side, table: Table) -> None:
        self._model, self._side = model, side
        self.table: Table = table
        self._numbers: dict[str, int] = {}

    def numbered(self, ids: Sequence[object]) -> I64:
        """Return the row number of each id, (n,); new ids get rows."""
        names = [str(id_) for id_ in ids]
        first = len(self._numbers)
        new = [name for name in dict.fromkeys(names) if name not in self._numbers]
        self._numbers |= {name: number for number, name in enumerate(new, first)}
        self._grow(first + len(new))
        self.table.rows[first : first + len(new)] = self._model.start(self._side, id_hashes(new))
        return np.array([self._numbers[name] for name in names], np.int64)

    def read(self, ids: Sequence[object]) -> F32:
        """Return the row of each id, (n, width); new ids get initial rows, which are not stored."""
        names = [str(id_) for id_ in ids]
        rows = self._model.start(self._side, id_hashes(names))
        at = [number for number, name in enumerate(names) if name in self._numbers]
        rows[at] = self.table.rows[[self._numbers[names[number]] for number in at]]
        return rows

    def state(self, name: str) -> Arrays:
        """Return copies of the rows in use, and the ids as JSON bytes."""
        ids = np.frombuffer(json.dumps(list(self._numbers)).encode(), np.uint8)
        n = len(self._numbers)
        return {f"{name}.ids": ids.copy()} | {
            f"{name}.{field.name}": getattr(self.table, field.name)[:n].copy()
            for field in fields(self.table)
        }

    def restore(self, name: str, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what ``state`` returned."""
        stored = {field.name: state[f"{name}.{field.name}"] for field in fields(self.table)}
        if stored["rows"].shape[1] != self.table.rows.shape[1]:
            raise StateMismatch(
                "these rows belong to another set of experts: use its configuration"
            )
        ids = json.loads(state[f"{name}.ids"].tobytes())
        self._numbers = {name: number for number, name in enumerate(ids)}
        self._grow(len(ids))
        for part, array in stored.items():
            getattr(self.table, part)[: len(ids)] = array

    def _grow(self, size: int) -> None:
        """Make room for ``size`` rows; memory is touched only where rows are written."""
        before = len(self.table.rows)
        if size <= before:
            return
        grown = {}
        for field in fields(self.table):
            old: NDArray[Any] = getattr(self.table, field.name)
            grown[field.name] = np.zeros((max(size, 2 * before), *old.shape[1:]), old.dtype)
            grown[field.name][:before] = old
        self.table = replace(self.table, **grown)


def _check_sizes(
    users: Sequence[object], items: Sequence[object], ratings: tuple[int, ...]
) -> None:
    if not (len(users),) == (len(items),) == ratings:
        raise ShapeError(
            f"one item and one rating for each user: got {len(users)} users, {len(items)} items, "
            f"ratings of shape {ratings}"
        )
