"""How much each ranker of the mixture weighs, as the followers of the learners have found."""

from core.mixture import Weights
from service.serving.polling import Polled
from service.store.mixture import MixtureReader, weights


class Mixing(Polled):
    """Follows the weights; empty until a follower has written some."""

    def __init__(self, reader: MixtureReader) -> None:
        super().__init__()
        self.reader = reader
        self.current = Weights()

    async def refresh(self) -> None:
        """Read the weights now."""
        found = weights(await self.reader.records())
        if found != self.current:
            self.current = found
