"""Features of users and links between them, in the form that ``Ocmf`` reads."""

from core.batch.feature_map import FeatureMap, fit_features
from core.batch.ocmf.graph import similarity
from core.batch.ocmf.model import users_of
from core.batch.ocmf.users import StructuredUsers

__all__ = ["FeatureMap", "StructuredUsers", "fit_features", "similarity", "users_of"]
