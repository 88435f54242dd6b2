"""Reads the dataset of a job: only what the families to be trained learn from."""

from collections.abc import Callable, Collection

from service import configs
from service.errors import ServiceError
from service.ranking.family import Family
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import Client
from service.store.namespace import Namespace
from service.store.profiles.history_reader import HistoryReader
from service.training.data.dataset import Dataset
from service.training.data.reading import read


class NothingToLearn(ServiceError):
    """Raised if the histories hold no positive; the job fails with this message."""

    status, code = 409, "nothing_to_learn"


def read_for(
    families: Collection[Family],
    settings: Settings,
    client: Client,
    namespace: Namespace,
    *,
    with_order: bool = False,
    on_share: Callable[[float], None],
) -> Dataset:
    """Return the dataset of some families; raise NothingToLearn if there is no positive."""
    data = read(
        HistoryReader(client, namespace),
        configs.meanings(settings, namespace),
        with_documents=any(family.reads_user_features for family in families),
        with_items=any(family.reads_item_features for family in families),
        with_ratings=any(family.predicts_stars for family in families),
        with_order=with_order or any(family.reads_order for family in families),
        with_contexts=any(family.reads_context for family in families),
        until_ms=now_ms() + int(1_000 * settings.future_tolerance_s),
        on_progress=on_share,
    )
    whole = data.whole
    if not len(whole) or (whole.target is not None and not (whole.target > 0).any()):
        raise NothingToLearn(
            "there is no positive feedback to learn from: post ratings of at least 60 % of "
            "the scale, or likes, purchases, clicks, views (POST /v1/events), then retrain"
        )
    return data
