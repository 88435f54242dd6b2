"""The settings in effect, over HTTP."""

from fastapi import APIRouter

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.settings_in_effect import in_effect

router = APIRouter(route_class=Route, tags=["operations"])


class Setting(Answer):
    """One setting of the service."""

    name: str
    """Its name; with a dot, that of its table and its own."""
    value: str | None
    """What it is in the process that answers, lists and tables as JSON; passwords are masked."""
    default: str | None
    """What it would be by default."""
    is_changed: bool
    """Whether the two differ."""
    about: str
    """What it means."""


class SettingsInEffect(Answer):
    """Every setting of the service."""

    settings: list[Setting]
    """In the order of the reference."""


@router.get("/v1/settings", summary="Read the settings in effect")
async def get_settings(runtime: Runtime) -> SettingsInEffect:
    """With what settings the process runs that answers; other processes may have others.

    Settings are changed before the start: by flags, by variables or in `hedgerow.toml`.
    """
    shown = [
        Setting(**one._asdict(), is_changed=one.value != one.default)
        for one in in_effect(runtime.settings)
    ]
    return SettingsInEffect(settings=shown)
