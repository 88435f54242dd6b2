"""Label embeddings (ExMLDS): rank the labels of points by their features."""

from core.labels.config import Descent, ExmldsConfig, Votes, standard
from core.labels.exmlds import Exmlds
from core.labels.space import LabelSpace
from core.labels.sppmi import Mix

__all__ = ["Descent", "Exmlds", "ExmldsConfig", "LabelSpace", "Mix", "Votes", "standard"]
