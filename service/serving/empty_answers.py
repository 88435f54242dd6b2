"""Reasons why an answer has no items, and what would help."""

from core.types import I32
from service.ranking.pool import Pool
from service.ranking.reasons import NO_ITEMS, and_, meant
from service.ranking.slates.slate import Slate
from service.serving.asked import Asked
from service.store.catalogue.columns import Catalogued


def empty(asked: Asked, made: Slate, pool: Pool, seen: I32, items: Catalogued) -> str | None:
    """Return the reason why an answer has no items; ``seen`` are the items seen by the asker."""
    if made.skipped:
        return f"`offset` skips all of this answer (items: {len(made.skipped)})"
    if pool.candidates is not None and not pool.candidates.size:
        return "none of `candidates` is known here: GET /v1/items lists those that are"
    by = {"category": asked.category, "filter": asked.filter, "candidates": asked.candidates}
    given = " and ".join(f"`{name}`" for name, value in by.items() if value is not None)
    fits = f" and fits {given}" if given else ""
    if pool.size:
        return f"{made.origin.strategy} knows no item that may be shown{fits}"
    if pool.fitting:
        return f"every item that may be shown{fits} is left out: {_left_out(asked, seen)}"
    unmet = [] if asked.filter is None else items.unmet(asked.filter)
    return and_(f"no item that may be shown fits {given}" if given else NO_ITEMS, *unmet)


def no_category(items: Catalogued, name: str) -> str | None:
    """Say that no item has a category, and which one may be meant; it takes a while."""
    names = items.category_pairs.names
    if name in names:
        return None
    return f"no item has the category `{name}`: {meant(name, names, 'GET /v1/categories')}"


def _left_out(asked: Asked, seen: I32) -> str:
    """Return the causes for which this request leaves items out."""
    causes = {
        f"seen before (`{asked.seen_by}`)": asked.exclude_seen and seen.size,
        "named in `exclude`": asked.exclude,
        "the item itself": asked.item,
    }
    return " or ".join(cause for cause, used in causes.items() if used)
