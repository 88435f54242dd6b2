"""Lists of items and users: personal, for a session, similar, latest, popular."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from service.api.figures import figure
from service.api.gorse.call import MOST_N, Call, Refused
from service.api.gorse.feedback import feedback_of, types_of
from service.api.gorse.showing import show
from service.api.slates.asking import history_of
from service.api.times import read_ms
from service.errors import NotFound
from service.ranking.families import FAMILIES
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import LATEST, POPULAR, TRENDING, Strategy
from service.serving.asked import Answer, Asked
from service.store.catalogue.documents import Document
from service.store.clock import now_ms

Scores = list[dict[str, Any]]


async def recommend(call: Call) -> Any:
    """What suits a user and is new to them; the newest items where nothing is known of the user."""
    seen = await _seen(call, call.user)
    answer = await call.runtime.recommender.recommend(
        _asked(call, call.user, seen, exclude_seen=True)
    )
    if answer.slate.origin.strategy == POPULAR:
        asked = _asked(call, call.user, seen, LATEST, exclude_seen=True)
        answer = await call.runtime.recommender.recommend(asked)
    scores = await _scores(call, answer)
    await show(call, answer.ids)
    wants_scores = call.header("x-api-version") == "2"
    return scores if wants_scores else [score["Id"] for score in scores]


async def by_others(call: Call) -> Any:
    """What suits a user, whether or not they know it."""
    seen = await _seen_by_reader(call)
    answer = await call.runtime.recommender.recommend(_asked(call, call.user, seen))
    return await _scores(call, answer)


async def for_session(call: Call) -> Any:
    """What suits somebody with the posted feedback; null if there is nothing."""
    types, rows = types_of(call), await call.objects()
    events = [feedback_of(types, row, user="nobody") for row in rows]
    events.sort(key=lambda event: event.moment)
    history, _ = await history_of(call.runtime, call.intake.rules, events)
    in_path = call.path.get("category")
    asked = Asked(
        Wanted(k=call.n, offset=call.offset),
        history=history,
        exclude=[event.item for event in events],
        category=in_path or None,
    )
    return await _scores(call, await call.runtime.recommender.recommend(asked)) or None


async def latest(call: Call) -> Any:
    """The newest items."""
    return await _everybody(call, LATEST)


async def popular(call: Call) -> Any:
    """The most popular items."""
    return await _everybody(call, POPULAR)


async def leaderboard(call: Call) -> Any:
    """A list that is the same for everybody; of other names none."""
    name = call.path["name"]
    return await _everybody(call, name) if name in {POPULAR, TRENDING, LATEST} else []


async def like_item(call: Call) -> Any:
    """Items that the same people like; any name means the best model, our own names that one."""
    family = FAMILIES.get(call.path.get("name", ""))
    model = family.strategy if family is not None and family.compares_items else None
    asked = _asked(call, None, await _seen_by_reader(call), model)
    try:
        return await _scores(call, await call.runtime.recommender.similar(call.item, asked))
    except NotFound:
        return []


async def like_user(call: Call) -> Any:
    """Users who like the same items."""
    first, n = call.offset, call.n
    if first + n > MOST_N:
        raise Refused(f"offset + n is {first + n}: with users it can be at most {MOST_N}")
    found = await call.runtime.recommender.similar_users(call.user, first + n, None)
    return [{"Id": user, "Score": figure(score)} for user, score in found.users[first:]]


async def _everybody(call: Call, strategy: Strategy) -> Scores:
    asked = _asked(call, None, await _seen_by_reader(call), strategy)
    return await _scores(call, await call.runtime.recommender.recommend(asked))


async def _seen_by_reader(call: Call) -> Sequence[str]:
    """Return what the user in the query knows, who need not be the one of the path."""
    user = call.value("user-id")
    return await _seen(call, user) if user else ()


async def _seen(call: Call, user: str) -> Sequence[str]:
    history, _ = await call.runtime.profiles.placed_history(user)
    seen = np.unique(history["item"][history["time_ms"] <= now_ms()]).tolist()
    return await call.runtime.numbers.ids(seen) if seen else ()


def _asked(
    call: Call,
    user: str | None,
    exclude: Sequence[str],
    model: Strategy | None = None,
    *,
    exclude_seen: bool = False,
) -> Asked:
    """Return what is asked; ``exclude_seen`` leaves out what the history no longer has."""
    names = call.categories
    return Asked(
        Wanted(k=call.n, offset=call.offset, model=model),
        user=user,
        exclude=exclude,
        exclude_seen=exclude_seen,
        category=names[0] if len(names) == 1 else None,
        filter=_all_of(names) if names[1:] else None,
    )


def _all_of(categories: Sequence[str]) -> str:
    """Return the filter of the items that have all categories.

    >>> _all_of(["Drama", "Children's"])
    "category = 'Drama' and category = 'Children''s'"
    """
    quoted = [name.replace("'", "''") for name in categories]
    return " and ".join(f"category = '{name}'" for name in quoted)


async def _scores(call: Call, answer: Answer) -> Scores:
    picks = answer.slate.picks
    if answer.slate.origin.strategy != LATEST:
        pairs = zip(answer.ids, picks, strict=True)
        return [{"Id": item, "Score": figure(pick.score)} for item, pick in pairs]
    documents = await call.runtime.catalogue.items([pick.item for pick in picks])
    pairs_of_latest = zip(answer.ids, documents, strict=True)
    return [{"Id": item, "Score": _since(document)} for item, document in pairs_of_latest]


def _since(document: Document) -> float:
    """Return since when an item is there, in unix seconds; 0 if that is unknown."""
    opens = (document.body or {}).get("available_from")
    since = document.created_ms if opens is None else read_ms(opens)
    return (since or 0) / 1_000
