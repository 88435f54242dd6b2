"""docs/reference/settings-history.md has every setting, from its first default to today's."""

import re

from service.limits import Limits
from service.settings import Settings
from service.settings_reference import default_text
from tests.docs.pages import DOCS

PAGE = (DOCS / "reference" / "settings-history.md").read_text()
ROW = re.compile(r"^\| `([a-z_.]+)` \| (.+?) \|", re.MULTILINE)


def section(heading: str) -> dict[str, str]:
    """Return the settings of a section, with what the column beside them says."""
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = ROW.findall(text)
    assert rows, heading
    assert len(rows) == len(dict(rows)), f"{heading}: a setting stands there twice"
    return dict(rows)


def todays() -> dict[str, str]:
    """Return the default of each setting, as the pages write it."""
    own = {
        name: field.default
        for name, field in Settings.model_fields.items()
        if name not in {"kinds", "limits"}
    }
    limits = {f"limits.{name}": field.default for name, field in Limits.model_fields.items()}
    return {name: default_text(default) for name, default in (own | limits).items()}


def test_every_setting_has_come_into_being_once_and_none_is_gone() -> None:
    first, new = section("Settings of the first version"), section("Settings that are new")
    assert first.keys() & new.keys() == set()
    assert first.keys() | new.keys() == todays().keys()


def test_the_defaults_lead_from_the_first_to_todays() -> None:
    found = section("Settings of the first version") | section("Settings that are new")
    for name, change in section("Defaults that changed").items():
        before, *_, now = change.split(" → ")
        assert found[name] == before, name
        found[name] = now
    assert found == todays()
