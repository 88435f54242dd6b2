"""An entry of the change feed: the changes of a commit, for processes that cache or wait.

It is written in the commit's transaction; ``changes`` follows the feed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.types import I64
from service.store.log.codec import AWAITED_ANSWER

LISTED = 1_000
"""Most users and most items that an entry names; with more it says "all"."""

NO_ITEMS: I64 = np.empty(0, dtype=np.int64)
NO_ANSWERS: NDArray[Any] = np.empty(0, dtype=AWAITED_ANSWER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """An entry without its id, which is the watermark that the change reached."""

    follows: int
    """Watermark of the change before; -1 if unknown."""
    epoch: int
    users: Sequence[str] = ()
    """Users whose history or row changed."""
    items: I64 = field(default_factory=lambda: NO_ITEMS)
    """Items whose row changed."""
    is_all: bool = False
    """Whether any user and item may have changed."""
    answers: NDArray[Any] = field(default_factory=lambda: NO_ANSWERS)
    """Predictions for waiting requests, as ``codec.AWAITED_ANSWER``."""

    def pack(self) -> dict[str, str | int | bytes]:
        """Return the fields of the stream entry."""
        fields: dict[str, str | int | bytes] = {"f": self.follows, "e": self.epoch}
        if self.is_all or max(len(self.users), len(self.items)) > LISTED:
            fields["a"] = 1
        else:
            fields["u"] = "\n".join(self.users)
            fields["i"] = self.items.astype("<u4").tobytes()
        if self.answers.size:
            fields["p"] = self.answers.tobytes()
        return fields

    @classmethod
    def unpack(cls, fields: Mapping[bytes, bytes]) -> Self:
        """Read the fields that ``pack`` returned."""
        users = fields.get(b"u", b"").decode()
        return cls(
            follows=int(fields.get(b"f", b"-1")),
            epoch=int(fields.get(b"e", b"0")),
            users=users.split("\n") if users else (),
            items=np.frombuffer(fields.get(b"i", b""), "<u4").astype(np.int64),
            is_all=b"a" in fields,
            answers=np.frombuffer(fields.get(b"p", b""), AWAITED_ANSWER),
        )
