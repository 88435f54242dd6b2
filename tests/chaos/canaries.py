"""Clients that break a promise themselves: the checks must find what each of them does."""

from collections.abc import Mapping
from typing import Any

from service.store.connection import connect
from service.store.keys import PartitionKeys
from tests.chaos.clients import Sent, Writer
from tests.chaos.history import Answer
from tests.chaos.place import Place


class Boaster(Writer):
    """Counts events that were never sent as acknowledged."""

    def post(self, events: list[Sent]) -> tuple[Answer, Any]:
        noted, said = super().post(events)
        self.acknowledge([self.next()], "0:1", noted)
        return noted, said

    def read_own(self, user: str, sequence: str) -> None:
        """Leave it to the checks at the end."""


class Doubler(Writer):
    """Sends an event twice, as two events."""

    def post(self, events: list[Sent]) -> tuple[Answer, Any]:
        twin = events[0].row() | {"event_id": f"{events[0].event_id} again"}
        self.ask("POST", "/v1/events", twin)
        return super().post(events)


class Mistaken(Writer):
    """Sends an event under the name of another item."""

    def post(self, events: list[Sent]) -> tuple[Answer, Any]:
        self.ask("POST", "/v1/events", events[0].row() | {"item": "another", "event_id": "x"})
        return super().post(events)


class Repeater(Writer):
    """Asks for lists with what it has rated."""

    def path(self, user: str) -> str:
        return f"{super().path(user)}&exclude_seen=false"


class Careless(Writer):
    """Sends what is refused as wrong."""

    def step(self) -> None:
        self.ask("POST", "/v1/events", self.next().row() | {"rating": 9})
        super().step()


CANARIES: Mapping[type[Writer], str] = {
    Boaster: "acknowledged and lost",
    Doubler: "counted 2 times",
    Mistaken: "sent was None",
    Repeater: "which it had rated before",
    Careless: "unexpected: .* 422 out_of_scale",
}
"""Each client, and what must be said of it."""


def forget_a_user(place: Place, user: str) -> None:
    """Let the store lose a history."""
    assert place.store is not None
    with connect(place.store.url, role="test") as client:
        assert client.delete(PartitionKeys("main", 0).history(user))
