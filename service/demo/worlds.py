"""Sources of ratings for `hedgerow demo`: the sample world, or a file of ratings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from service.demo.sample_world import SampleWorld
from service.files.opening import filled_lines, is_ndjson
from service.files.ratings import read_chunks

USERS, ITEMS, REACH = 60, 150, 60
"""Sizes of the sample world: small enough that learning shows within a minute.

A user rates at most ``REACH`` different items, so there is always something to recommend.
"""


@dataclass(frozen=True)
class World:
    """A source of ratings: ``titles`` of items by id, and ratings in the form of the api."""

    titles: dict[str, str]
    documents: list[dict[str, object]]
    ratings: Iterator[dict[str, object]]
    pair: tuple[str, str]
    """A user and an item for examples of requests."""
    scale: str = "1:5"
    total: int | None = None
    """Number of ratings, None if endless."""


def sample_world(seed: int) -> World:
    """Return the sample world of a seed."""
    world = SampleWorld(seed, n_users=USERS, n_items=ITEMS, reach=REACH)
    ratings = (
        {"user": event.user, "item": event.item, "rating": event.rating} for event in world.events()
    )
    titles = {item.id: item.title for item in world.items}
    documents = [item.document() for item in world.items]
    return World(titles, documents, ratings, ("user-0020", "item-0000"))


def file_world(path: Path) -> World:
    """Return a file of ratings as a world; its first rows determine the scale."""
    chunks = read_chunks(path)
    first = next(chunks)
    low, high = float(first.rating.min()), float(first.rating.max())

    def rows() -> Iterator[dict[str, object]]:
        for chunk in (first, *chunks):
            for user, item, rating in zip(
                chunk.users, chunk.items, chunk.rating.tolist(), strict=True
            ):
                yield {"user": user, "item": item, "rating": rating}

    scale = f"{low:g}:{high if high > low else low + 1:g}"
    total = filled_lines(path) - (not is_ndjson(path))
    return World({}, [], rows(), (first.users[0], first.items[0]), scale, total)
