"""Every role builds the same configurations from settings and namespace."""

import numpy as np

from core.online.experts import DEFAULT, PAPER_SMALL
from core.scale import Scale
from service import configs
from service.settings import Settings
from service.store.namespace import Namespace

STORED = Namespace("shop", partitions=2, scale=Scale(0, 10), seed=7, created="2026-01-01")


def test_scale_and_seed_are_those_of_the_namespace() -> None:
    config = configs.online_config(Settings(scale="1:5", seed=1), STORED)
    assert (config.scale, config.seed, config.experts) == (Scale(0, 10), 7, DEFAULT)


def test_experts_and_aggregator_are_those_of_the_settings() -> None:
    config = configs.online_config(Settings(experts="paper", aggregator="hedge"), STORED)
    assert (config.experts, config.aggregator) == (PAPER_SMALL, "hedge")


def test_kinds_of_the_settings_are_read_on_the_scale_of_the_namespace() -> None:
    settings = Settings()
    meanings = configs.meanings(settings, STORED)
    purchase = settings.kinds["purchase"]
    kind = np.array([0, 0, purchase.code], np.uint8)
    value = np.array([6.0, 5.0, 0.0], np.float32)
    assert meanings.evidence(kind, value).tolist() == [1.0, 0.0, purchase.weight]
