"""The settings in effect, over HTTP."""

from fastapi import APIRouter

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.settings_in_effect import in_effect

router = APIRouter(route_class=Route, tags=["operations"])


class Setting(Answer):
    """One setting of the service."""

    name: str
    """Its name; in a table, the name of the table, a dot and its own name."""
    value: str | None
    """Its value in the process that answers; lists and tables are JSON; passwords are masked."""
    default: str | None
    """Its value by default."""
    is_changed: bool
    """Whether value and default differ."""
    about: str
    """What it means."""


class SettingsInEffect(Answer):
    """Every setting of the service."""

    settings: list[Setting]
    """In the order of the reference."""


@router.get("/v1/settings", summary="Read the settings in effect")
async def get_settings(runtime: Runtime) -> SettingsInEffect:
    """The settings of the process that answers; other processes may have other settings.

    Change settings before the start: by flags, by variables or in `hedgerow.toml`.
    """
    shown = [
        Setting(**one._asdict(), is_changed=one.value != one.default)
        for one in in_effect(runtime.settings)
    ]
    return SettingsInEffect(settings=shown)
