"""Configurations of core, built from settings and a namespace, the same in every role."""

from core.meaning import EventMeanings, KindTable
from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL
from service.settings import Settings
from service.store.namespace import Namespace

EXPERTS = {"default": DEFAULT, "paper": PAPER_SMALL}


def online_config(settings: Settings, namespace: Namespace) -> OnlineConfig:
    """Return the configuration that determines the arithmetic of the online model."""
    return OnlineConfig(
        experts=EXPERTS[settings.experts],
        aggregator=settings.aggregator,
        scale=namespace.scale,
        seed=namespace.seed,
    )


def kind_table(settings: Settings) -> KindTable:
    """Return the meaning of each kind of feedback, by its code."""
    return KindTable.of(
        (kind.code, kind.weight, kind.sign, kind.hides) for kind in settings.kinds.values()
    )


def meanings(settings: Settings, namespace: Namespace) -> EventMeanings:
    """Return the rules by which stored events become preferences and evidence."""
    return EventMeanings(kind_table(settings), namespace.scale)
