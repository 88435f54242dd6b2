"""Feedback types of Gorse as our kinds of feedback, and an event with both.

The kind of a type says what it means to the rankers. Where the kind does not say which type it was,
the context of the event does; so do events that replace what was there (``PUT``).
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import eq, ge, gt, le, lt

from msgspec import UNSET

from core.meaning import RATING
from core.scale import Scale
from service.api.contexts import MAX_CONTEXT_TEXT
from service.api.feedback.schemas import Feedback
from service.api.gorse.call import Refused
from service.ids import is_id
from service.settings import Kind

TYPE, WRITTEN, REPLACING = "feedback_type", "written", "put"
"""Names in the context of an event, and the text of one that replaces what was there before."""
OTHERS = "*"

_EXPRESSION = re.compile(r"([a-zA-Z][a-zA-Z0-9_]*)(?:(<=|>=|<|>)(-?\d+(?:\.\d+)?))?")
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "<": lt, ">": gt}


class TypedFeedback(Feedback, gc=False):
    """An event whose number is kept although it is no rating."""

    value: float = 0.0

    @property
    def number(self) -> float:
        return self.value

    @property
    def moment(self) -> float:
        """When it happened, in seconds; 0 if that was not said."""
        return self.timestamp.timestamp() if isinstance(self.timestamp, datetime) else 0.0


@dataclass(frozen=True)
class Types:
    """How types become kinds, and events types again."""

    kinds: Mapping[str, Kind]
    chosen: Mapping[str, str]
    """Kinds by type, as the settings say."""
    scale: Scale

    def event(
        self, user: str, item: str, kind: str, value: float, *, replaces: bool = False
    ) -> TypedFeedback:
        """Return an event of a feedback type ``kind``, dated now."""
        if not kind or not is_id(kind) or len(kind) > MAX_CONTEXT_TEXT:
            raise Refused(
                f"FeedbackType must have 1 to {MAX_CONTEXT_TEXT} characters, "
                "none of them a control character"
            )
        if not math.isfinite(value) or abs(value) > 3e38:
            raise Refused("Value must be a finite number")
        meant = self.chosen.get(kind, kind if self._is_one(kind) else self.chosen[OTHERS])
        if meant == "rating" and not self.scale.low <= value <= self.scale.high:
            meant = self.chosen[OTHERS]
        context = {} if meant == kind else {TYPE: kind}
        if replaces:
            context[WRITTEN] = REPLACING
        return TypedFeedback(
            user,
            item,
            rating=value if meant == "rating" else UNSET,
            kind=UNSET if meant == "rating" else meant,
            context=context or UNSET,
            value=value,
        )

    def type_of(self, code: int, context: Mapping[str, str]) -> str:
        """Return the feedback type of a stored event."""
        if TYPE in context:
            return context[TYPE]
        return "rating" if code == RATING else self._names.get(code, f"kind {code}")

    @property
    def _names(self) -> dict[int, str]:
        return {kind.code: name for name, kind in self.kinds.items()}

    def _is_one(self, name: str) -> bool:
        return name == "rating" or name in self.kinds


def read_expression(text: str) -> Callable[[str, float], bool]:
    """Return whether (type, value) is meant by an expression: ``star``, ``rating>=4``.

    >>> fits = read_expression("rating>=4")
    >>> fits("rating", 4.0), fits("rating", 3.0), fits("star", 5.0)
    (True, False, False)
    """
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise Refused(f"invalid feedback type expression {text[:100]!r}: write `star`, `rating>=4`")
    name, sign, number = match.groups()
    if sign is None:
        return lambda kind, value: eq(kind, name)
    return lambda kind, value: kind == name and _COMPARISONS[sign](value, float(number))
