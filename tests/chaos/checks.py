"""Looks at the service from outside, after a schedule: over HTTP and by the command line."""

import json
from collections import Counter
from typing import Any

from service.processes.commands import PLANNED
from tests.chaos.clients import Caller, Ledger
from tests.chaos.history import Answer, Broken, History
from tests.chaos.place import Place
from tests.server import wait_until

Stored = Counter[tuple[str, str, float]]
"""How often each user has rated each item in this way."""
EXPECTED_REFUSALS = {503, 429}
KILLED = -9


def check(place: Place, history: History, ledger: Ledger) -> None:
    """Raise Broken if a promise is."""
    for noted in history.answers:
        check_status(history, noted)
    stats = learned(place, history)
    stored = exported(place, ledger.name)
    check_stored(ledger, stored)
    check_served(place, stored)
    check_reports(place, stats)


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
        if history.is_under("api", noted.began, noted.ended):
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


def check_stored(ledger: Ledger, stored: Stored) -> None:
    """Nothing acknowledged is lost, nothing is there twice or was never sent."""
    for (user, item, rating), n in stored.items():
        sent = ledger.events.get((user, item))
        if sent is None or rating != sent.rating:
            raise Broken(f"{user} has rated {item} by {rating}; sent was {sent}")
        if n > 1:
            raise Broken(f"counted {n} times: {sent}", sent.acknowledged)
    found = {(user, item) for user, item, _ in stored}
    for pair, sent in ledger.events.items():
        if sent.acknowledged is not None and pair not in found:
            raise Broken(f"acknowledged and lost: {sent}", sent.acknowledged)


def check_served(place: Place, stored: Stored) -> None:
    """The api answers with the histories that are stored."""
    ask = Caller(place.url, "check", History(), 30.0)
    served: Stored = Counter()
    for user in {user for user, _, _ in stored}:
        cursor = ""
        while cursor is not None:
            noted, said = ask("GET", f"/v1/users/{user}/ratings?limit=200{cursor}")
            if noted.status != 200:
                raise Broken(f"nothing fails any longer: {noted}")
            served.update((user, one["item"], one["rating"]) for one in said["items"])
            cursor = said["next_cursor"] and f"&cursor={said['next_cursor']}"
    ask.close()
    if served != stored:
        raise Broken(f"served is {served - stored}, stored is {stored - served}")


def check_reports(place: Place, stats: dict[str, Any]) -> None:
    """No event was set aside, no rollback is told where there was none, no process failed."""
    if stats["rollbacks"] or place.logged("store_rolled_back", "store_refused"):
        raise Broken(f"a loss is reported, and there was none: {stats['rollbacks']}")
    if any(one["dead_letters"] for one in stats["partitions"]):
        raise Broken("there are dead letters")
    for end in place.logged("child_ended"):
        if end["code"] not in {KILLED, 0, *PLANNED}:
            raise Broken(f"a process failed: {end}")
    told = place.hedgerow("doctor")
    if told.returncode:
        raise Broken(f"hedgerow doctor: {told.stdout}")
