"""The weights of the rankers in the mixture, as the followers have learned them."""

from collections.abc import Sequence

from core.mixture_weights import Weights
from service.served_models import ActiveModels
from service.serving.copies.polling import Polled
from service.store.models.joined_mixture import knowing, weights
from service.store.models.mixture import MixtureReader, MixtureRecord


class MixtureWeights(Polled):
    """Follows the weights; empty until a follower has written some."""

    def __init__(self, reader: MixtureReader, models: ActiveModels) -> None:
        super().__init__()
        self.reader, self._models = reader, models
        self.current = Weights()
        self.records: Sequence[MixtureRecord | None] = ()
        """The records of all partitions; replaced only when a stack or an arm changes."""

    async def refresh(self) -> None:
        """Read the weights now."""
        records = await self.reader.records()
        new = weights(self.counting(records))
        if new != self.current:
            self.current = new
        if [*map(_of_stack, records)] != [*map(_of_stack, self.records)]:
            self.records = records

    def counting(self, records: Sequence[MixtureRecord | None]) -> list[MixtureRecord]:
        """Return the records with weights for models that are active now."""
        return knowing(records, self._models.current.versions)


def _of_stack(record: MixtureRecord | None) -> object:
    """Return what a stack and the choice of an arm depend on."""
    return None if record is None else (record.stack, record.arm_weights)
