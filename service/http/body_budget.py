"""The bytes of request bodies that an api process holds at one time, of all clients together."""

from types import TracebackType
from typing import Self

from service.errors import Overloaded

FREE_BYTES = 16 << 10
"""The beginning of each body is not counted, so that small ones are read whatever others send."""


class Held:
    """What one request holds, until it is answered."""

    def __init__(self, budget: "BodyBudget") -> None:
        self._budget = budget
        self._received = 0
        self.counted = 0

    def add(self, n: int) -> None:
        """Count ``n`` more bytes; raise Overloaded if the process holds too many."""
        self._received += n
        if self._received <= FREE_BYTES:
            return
        more = self._received - FREE_BYTES - self.counted
        self._budget.take(more)
        self.counted += more

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._budget.held -= self.counted


class BodyBudget:
    """Bounds the memory that bodies under way can take."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    def holding(self) -> Held:
        """Count the body of a request until the request is answered: to be used by ``with``."""
        return Held(self)

    def take(self, n: int) -> None:
        """Count bytes; raise Overloaded beyond the bound."""
        if self.held + n > self._most:
            raise Overloaded(
                f"this process holds {self._most} bytes of unfinished requests "
                "(HEDGEROW_LIMITS__BODY_BYTES_HELD): try again, or send the body in parts"
            )
        self.held += n
