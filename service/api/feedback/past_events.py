"""The events of a user as answers show them."""

from typing import Any

from numpy.typing import NDArray

from core.meaning import RATING
from service.api.schemas import Answer
from service.api.times import Time, rfc3339
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.partitions import partition_of
from service.store.profiles.contexts import Contexts
from service.store.profiles.history_record import sequences


class Event(Answer):
    """One event of a history."""

    item: str
    """The item of the event."""
    kind: str
    """`rating`, or the kind of feedback."""
    rating: float | None
    """Null for other kinds."""
    timestamp: Time
    """When it happened, as sent; else when it was accepted."""
    context: dict[str, str]
    """Where it happened, as sent; empty if it was not said."""
    sequence: str
    """The place of the event in the order of events."""


async def past_events(
    runtime: ApiRuntime, user: str, history: NDArray[Any], contexts: Contexts
) -> list[Event]:
    """Return history records as events."""
    partition = partition_of(user, runtime.namespace.partitions)
    kinds = {kind.code: name for name, kind in runtime.settings.kinds.items()}
    items = await runtime.numbers.ids(history["item"].tolist())
    return [
        Event(
            item=item,
            kind="rating" if code == RATING else kinds.get(code, f"kind {code}"),
            # the shortest number that is the same float32: what was sent
            rating=float(str(value)) if code == RATING else None,
            timestamp=rfc3339(time_ms),
            context=dict(contexts.get(sequence, {})),
            sequence=sequence_token({partition: sequence}),
        )
        for item, code, value, time_ms, sequence in zip(
            items,
            history["kind"].tolist(),
            history["value"],
            history["time_ms"].tolist(),
            sequences(history).tolist(),
            strict=True,
        )
    ]
