"""Models that learn from one rating at a time: experts, and one prediction made of theirs."""

from core.online.config import OnlineConfig
from core.online.evaluate import OnlineRun, mae, rmse
from core.online.experts import DEFAULT, PAPER_SMALL, Biased, Kalman, PassiveAggressive, Resolved
from core.online.model import ExpertReport, Learned, OnlineModel, Predicted
from core.online.tables import ItemTable, Side, UserTable
from core.rng import id_hashes
from core.scale import Scale

__all__ = [
    "DEFAULT",
    "PAPER_SMALL",
    "Biased",
    "ExpertReport",
    "ItemTable",
    "Kalman",
    "Learned",
    "OnlineConfig",
    "OnlineModel",
    "OnlineRun",
    "PassiveAggressive",
    "Predicted",
    "Resolved",
    "Scale",
    "Side",
    "UserTable",
    "id_hashes",
    "mae",
    "rmse",
]
