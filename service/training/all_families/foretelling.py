"""What a training foretells: the weights with which a mixture begins, before anything is judged."""

from collections.abc import Collection

from core.stack.guard import Guarded
from service.store.models.mixture import FirstStack, StackRecord
from service.training.all_families.settled import COUNTED

OF_HISTORY = "history"
"""First word of the signals that belong to no family."""


def first_stack(job: str, found: Guarded | None, serving: Collection[str]) -> FirstStack | None:
    """Return the weights of the trained families that serve, and of those without training.

    None: nothing could be weighed, or one family alone ranks better than a stack.
    """
    if found is None or found.alone is not None:
        return None
    serve = {*serving, *COUNTED, OF_HISTORY}
    names = [name for name in found.logit.names if name.split(":")[0] in serve]
    return FirstStack(job, StackRecord.of(found.logit.aligned(names), 0, {}))
