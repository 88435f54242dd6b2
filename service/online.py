"""Settings and namespace -> the online model; learner, api and rebuild must build the very same one."""

from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL
from core.online.model import OnlineModel
from service.settings import Settings
from service.store.namespace import Namespace

EXPERTS = {"default": DEFAULT, "paper": PAPER_SMALL}


def online_config(settings: Settings, namespace: Namespace) -> OnlineConfig:
    """Return everything that decides the arithmetic."""
    return OnlineConfig(
        experts=EXPERTS[settings.experts],
        aggregator=settings.aggregator,
        scale=namespace.scale,
        seed=namespace.seed,
    )


def online_model(settings: Settings, namespace: Namespace) -> OnlineModel:
    """Return a fresh model; its state is loaded by whoever uses it."""
    return OnlineModel(online_config(settings, namespace))
