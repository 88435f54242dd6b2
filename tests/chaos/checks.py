"""Looks at the service from outside, after a schedule: over HTTP and by the command line."""

import json
from collections import Counter
from typing import Any

from service.processes.commands import PLANNED
from tests.chaos.clients import Caller, Ledger, Sent
from tests.chaos.history import Answer, Broken, History, Occurrence
from tests.chaos.place import Place
from tests.server import wait_until

Stored = Counter[tuple[str, str, float]]
"""How often each user has rated each item in this way."""
EXPECTED_REFUSALS = {503, 429}
KILLED = -9


def check(place: Place, history: History, ledger: Ledger) -> int:
    """Raise Broken if a promise is; return how many acknowledged events a fault has taken."""
    for noted in history.answers:
        check_status(history, noted)
    stats = learned(place, history)
    stored = exported(place, ledger.name)
    lost = check_stored(history, ledger, stored)
    check_tail(history, ledger, lost)
    check_served(place, stored)
    check_processes(place, stats)
    check_reports(place, history, stats, lost)
    return len(lost)


def check_status(history: History, noted: Answer) -> None:
    """An answer is a success, or a refusal that says when to come again."""
    if noted.status in {200, 202}:
        return
    if noted.status in EXPECTED_REFUSALS:
        if noted.retry_after is None:
            raise Broken(f"no Retry-After: {noted}", noted.ended)
        return
    if noted.status == 0:
        # readers are impatient by intent
        if noted.code == "timeout" and noted.who.startswith("reader"):
            return
        if history.may_be_silent(noted.began, noted.ended):
            return
    if noted.code == "invalid_sequence" and history.losses(noted.began):
        return
    raise Broken(f"unexpected: {noted}", noted.ended)


def learned(place: Place, history: History) -> dict[str, Any]:
    """Wait until everything is learned; return the stats."""
    ask = Caller(place.url, "check", History(), 30.0)
    found: dict[str, Any] = {}

    def caught_up() -> bool:
        found["noted"], found["stats"] = ask("GET", "/v1/stats")
        return found["noted"].status == 200 and all(
            one["lag_events"] == 0 and one["log_bytes"] == 0 for one in found["stats"]["partitions"]
        )

    wait_until(caught_up)
    ask.close()
    return dict(found["stats"])


def exported(place: Place, name: str) -> Stored:
    """Return all that is in the histories of users whose names begin so."""
    told = place.hedgerow("export")
    if told.returncode:
        raise Broken(f"hedgerow export: {told.stderr}")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    return Counter(
        (row["user"], row["item"], row["rating"]) for row in rows if row["user"].startswith(name)
    )


def check_stored(history: History, ledger: Ledger, stored: Stored) -> list[Sent]:
    """Nothing acknowledged is lost but by a fault that loses, nothing is there twice or never sent.

    Return what is lost.
    """
    for (user, item, rating), n in stored.items():
        sent = ledger.events.get((user, item))
        if sent is None or rating != sent.rating:
            raise Broken(f"{user} has rated {item} by {rating}; sent was {sent}")
        if n > 1:
            raise Broken(f"counted {n} times: {sent}", sent.acknowledged)
    found = {(user, item) for user, item, _ in stored}
    lost = [
        sent
        for pair, sent in ledger.events.items()
        if sent.acknowledged is not None and pair not in found
    ]
    for sent in lost:
        if not any(may_lose(fault, sent) for fault in history.losses()):
            raise Broken(f"acknowledged and lost: {sent}", sent.acknowledged)
    return lost


def may_lose(fault: Occurrence, sent: Sent) -> bool:
    """Return whether a fault excuses the loss of an acknowledged event."""
    assert fault.loses_since is not None
    assert sent.acknowledged is not None
    return sent.acknowledged >= fault.loses_since and sent.asked < fault.ended


def check_tail(history: History, ledger: Ledger, lost: list[Sent]) -> None:
    """What a store lost is the end of its log: nothing in the middle is missing.

    An event that was sent again may be in the log at two places, and is not looked at.
    """
    gone = {sent.event_id for sent in lost}
    for fault in history.losses():
        before = [
            sent
            for sent in ledger.events.values()
            if sent.tries == 1 and (sent.acknowledged or fault.began) < fault.began
        ]
        first = min((sent.sequence for sent in before if sent.event_id in gone), default=None)
        for sent in before:
            if first is not None and sent.sequence > first and sent.event_id not in gone:
                raise Broken(f"{first} is lost, and a later event is there: {sent}")


def check_served(place: Place, stored: Stored) -> None:
    """The api answers with the histories that are stored."""
    ask = Caller(place.url, "check", History(), 30.0)
    served: Stored = Counter()
    for user in {user for user, _, _ in stored}:
        cursor = ""
        while cursor is not None:
            said = answered(ask, f"/v1/users/{user}/ratings?limit=200{cursor}")
            served.update((user, one["item"], one["rating"]) for one in said["items"])
            cursor = said["next_cursor"] and f"&cursor={said['next_cursor']}"
    ask.close()
    if served != stored:
        raise Broken(f"served is {served - stored}, stored is {stored - served}")


def answered(ask: Caller, path: str) -> Any:
    """Ask until the answer is no refusal: a store on a busy machine may be slow without a fault."""
    found: list[Any] = []

    def is_answered() -> bool:
        noted, said = ask("GET", path)
        if noted.status not in {200, *EXPECTED_REFUSALS}:
            raise Broken(f"unexpected: {noted}")
        found.append(said)
        return noted.status == 200

    wait_until(is_answered)
    return found[-1]


def check_processes(place: Place, stats: dict[str, Any]) -> None:
    """No event was set aside, and no process ended but by a signal of ours or on purpose."""
    if any(one["dead_letters"] for one in stats["partitions"]):
        raise Broken("there are dead letters")
    for end in place.logged("child_ended"):
        if end["code"] not in {KILLED, 0, *PLANNED}:
            raise Broken(f"a process failed: {end}")


def check_reports(place: Place, history: History, stats: dict[str, Any], lost: list[Sent]) -> None:
    """A loss is told, and none where there was none."""
    told = bool(place.logged("store_rolled_back", "store_refused"))
    if lost and not told:
        raise Broken(f"{len(lost)} acknowledged events are lost, and the log does not say so")
    if (told or stats["rollbacks"]) and not history.losses():
        raise Broken(f"a loss is reported, and there was none: {stats['rollbacks']}")
    looked = place.hedgerow("doctor")
    if looked.returncode:
        raise Broken(f"hedgerow doctor: {looked.stdout}{looked.stderr}")
    if stats["rollbacks"] and "last rollback" not in looked.stdout:
        raise Broken(f"hedgerow doctor does not know of the rollback: {looked.stdout}")
