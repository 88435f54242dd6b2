"""Reads the histories into a dataset, with memory for its matrices and one page of users.

A first pass proposes cuts between training and held-out events (``cuts.py``), the next one builds
the matrices (``splitting.py``). If a cut gives too few held-out users, which is rare, the next cut
is tried.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from core.features import EncoderFit
from core.gate import FEWEST_USERS
from core.meaning import EventMeanings
from service.training.data.cuts import JUDGEMENTS, LEAST_KNOWN, LIMITS, SPLITS, Cut, Limits, Times
from service.training.data.dataset import Dataset
from service.training.data.documents import encoded_items
from service.training.data.histories import HistorySource
from service.training.data.splitting import Split

Progress = Callable[[float], None]


def read(
    reader: HistorySource,
    meanings: EventMeanings,
    *,
    with_documents: bool,
    with_items: bool = False,
    with_ratings: bool = False,
    with_order: bool = False,
    with_contexts: bool = False,
    until_ms: int | None = None,
    limits: Limits = LIMITS,
    on_progress: Progress = lambda share: None,
) -> Dataset:
    """Return the dataset of a namespace; it is empty if there is no positive.

    ``until_ms`` is the latest time that an event may have; a later one is that of a bad clock.
    Together with contexts, the order is read.
    """
    times, encoder = Times(limits, until_ms=until_ms), EncoderFit(np.random.default_rng(0))
    n_users = 0
    for page in reader.pages():
        times.add(page, meanings)
        n_users += len(page.users)
        if with_documents:
            encoder.add(body.get("features", {}) for body in reader.documents(page.users))
    on_progress(0.3)
    chosen = encoder.encoder() if with_documents else None
    items, described = encoded_items(reader) if with_items else (None, None)
    most_rated = limits.rated if with_ratings else 0

    def split(cut: Cut) -> Dataset:
        building = Split(
            reader,
            meanings,
            cut,
            chosen,
            items,
            most_rated=most_rated,
            with_order=with_order or with_contexts,
            with_contexts=with_contexts,
        )
        for page in reader.pages():
            building.add(page)
            on_progress(0.3 + 0.7 * min(building.n_users / max(n_users, 1), 1.0))
        return replace(building.finish(), described=described)

    for cut in times.cuts():
        data = split(cut)
        if data.held_out.user_ix.size >= FEWEST_USERS:
            break
    data = replace(data, earlier=tuple(_earlier(data, split)))
    if data.encoded is None:
        return data
    return replace(data, encoded=replace(data.encoded, left_out=encoder.left_out))


def _earlier(data: Dataset, split: Callable[[Cut], Dataset]) -> Iterator[Dataset]:
    """Yield earlier splits, until enough users have judged in all of them together."""
    judges = data.held_out.user_ix.size
    if judges >= FEWEST_USERS:
        return
    least = LEAST_KNOWN * len(data.known)
    for _ in range(SPLITS - 1):
        if judges >= JUDGEMENTS or not data.held_out.user_ix.size:
            return
        data = split(data.cut.earlier())
        judges += data.held_out.user_ix.size
        if not data.held_out.user_ix.size or len(data.known) < least:
            return
        yield data
