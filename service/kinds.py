"""The settings' kinds of feedback as core reads them. Apart from the settings, which some processes read without numpy."""

from core.meaning import KindTable
from service.settings import Settings


def kind_table(settings: Settings) -> KindTable:
    """Return what each code of a kind means."""
    return KindTable.of(
        (kind.code, kind.weight, kind.sign, kind.hides) for kind in settings.kinds.values()
    )
