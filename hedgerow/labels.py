"""Label embeddings (ExMLDS): rank the labels of points by their features."""

from core.labels.config import Descent, ExmldsConfig, Mix, Votes, standard
from core.labels.exmlds import Exmlds
from core.labels.space import LabelSpace

__all__ = ["Descent", "Exmlds", "ExmldsConfig", "LabelSpace", "Mix", "Votes", "standard"]
