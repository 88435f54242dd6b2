"""What is stored of webhooks: where to send, what to send, and what was sent."""

from typing import Literal, get_args

from msgspec import Struct

EventType = Literal[
    "training.ended",
    "model.promoted",
    "model.rolled_back",
    "model.pinned",
    "model.unpinned",
    "experiment.ended",
    "alarm.opened",
    "alarm.closed",
]
"""What a webhook may be told of."""
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
TEST = "webhook.test"
"""What is sent to try a webhook, whatever it is told of otherwise."""
MOST = 16
"""Most webhooks of a namespace."""


class Webhook(Struct, frozen=True):
    """An address that is told of events."""

    id: str
    name: str
    url: str
    events: tuple[str, ...]
    secret: str
    """Signs what is sent. It stands here as it is: whoever signs must know it."""
    created_ms: int
    """It is told of what happens from then on."""
    disabled: str = ""
    """Why nothing is sent any longer."""


class Delivery(Struct, frozen=True):
    """An event on its way to a webhook, or how that ended."""

    id: str
    """The same with every try, so that the receiver knows a repeat. Ids rise with time."""
    webhook: str
    type: str
    body: str
    """What is sent, to the byte."""
    created_ms: int
    tries: int = 0
    next_ms: int | None = None
    """When it is sent next; None: it has ended."""
    ended_ms: int | None = None
    status: int | None = None
    """The status of the last answer; None: there was none."""
    error: str = ""
    """Why the last try failed."""

    @property
    def state(self) -> Literal["waiting", "delivered", "given_up"]:
        """How far it is."""
        if self.next_ms is not None:
            return "waiting"
        return "given_up" if self.error else "delivered"


class Seen(Struct, frozen=True):
    """How far what happens was looked at: what is in it was told."""

    jobs: frozenset[str] = frozenset()
    """The newest jobs that have ended."""
    change: str = "0-0"
    """The newest change of the models that serve."""
    experiments: frozenset[str] = frozenset()
    """The experiments that have ended, each with how."""
    alarms: tuple["OpenAlarm", ...] = ()


class OpenAlarm(Struct, frozen=True):
    """An alarm that was told, and is not closed yet."""

    code: str
    about: str
    severity: str
    title: str
    detail: str
    opened_ms: int

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same alarm at two moments."""
        return self.code, self.about
