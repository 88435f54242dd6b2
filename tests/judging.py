"""Events that are judged as the follower does it, but each one as soon as it is learned."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from core.online.model import OnlineModel
from service import configs
from service.learning.following.inbox import Sighting
from service.learning.following.judge import Judge, StoredUser, Verdict
from service.learning.learner import Learner
from service.ranking.ranker import Ranker
from service.settings import Settings
from service.store.catalogue.columns import Catalogued
from service.store.namespace import open_namespace
from service.store.profiles.history_store import HistoryStore
from tests.feed import Event, Feed

EVERYTHING = Catalogued()
"""A catalogue in which every item may be shown."""


def stored(client: Any, feed: Feed, user: str) -> StoredUser:
    """Return the user as the store has it now."""
    return StoredUser(*HistoryStore(client, feed.keys).whole(user))


def judge_of(client: Any, settings: Settings) -> Judge:
    """Return a judge of the first partition."""
    namespace = open_namespace(client, settings)
    model = OnlineModel(configs.online_config(settings, namespace))
    return Judge(settings, model, configs.meanings(settings, namespace), 0)


def judged(
    learner: Learner,
    feed: Feed,
    settings: Settings,
    events: Iterable[Event],
    *,
    trained: Sequence[Ranker] = (),
    seen_as: Callable[[Sighting], Sighting] = lambda sighting: sighting,
    appended_ms: int | None = None,
    items: Catalogued = EVERYTHING,
) -> dict[int, Verdict]:
    """Learn events one at a time; return sequence -> verdict of each that is judged.

    ``seen_as`` changes a sighting before it is judged, when its event is learned.
    """
    judge = judge_of(feed.client, settings)
    found = {}
    learner.follower_inbox.is_followed = True
    learner.follower_inbox.refresh(learner.watermark)
    for event in events:
        # an event arrives when it happens, unless a test says so
        feed.append([event], appended_ms or event.time_ms)
        learner.drain()
        while (sighting := learner.follower_inbox.take_sighting()) is not None:
            user = stored(feed.client, feed, sighting.user)
            verdict = judge.judge(seen_as(sighting), user, trained, items=items)
            if verdict is not None:
                found[sighting.sequence] = verdict
    return found
