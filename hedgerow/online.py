"""Online prediction of ratings: a set of experts that learn from each rating, and their mixture.

>>> model = RatingPredictor(OnlineConfig(scale=Scale(0, 100)))
>>> before = model.learn(["ada", "bob"], ["film", "film"], [90, 20])
>>> predicted = model.predict(["ada"], ["film"])
>>> bool(predicted.low[0] <= predicted.rating[0] <= predicted.high[0])  # central 80 % interval
True
"""

from core.online.config import OnlineConfig
from core.online.evaluate import mae, rmse
from core.online.experts import DEFAULT as DEFAULT_EXPERTS
from core.online.experts import PAPER_SMALL as PAPER_EXPERTS
from core.online.experts import Biased, Kalman, PassiveAggressive, Resolved
from core.online.reports import ExpertReport, Learned, Predicted
from core.scale import Scale
from hedgerow._rating_predictor import RatingPredictor

__all__ = [
    "DEFAULT_EXPERTS",
    "PAPER_EXPERTS",
    "Biased",
    "ExpertReport",
    "Kalman",
    "Learned",
    "OnlineConfig",
    "PassiveAggressive",
    "Predicted",
    "RatingPredictor",
    "Resolved",
    "Scale",
    "mae",
    "rmse",
]
