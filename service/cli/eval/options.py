"""Options that several verbs of ``hedgerow eval`` share."""

from typing import Annotated

import typer

from core.errors import ConfigError
from core.scale import Scale
from service.cli.options import BUDGET_HELP

BudgetS = Annotated[float, typer.Option(min=0.0, help=BUDGET_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout")]
ScaleText = Annotated[str | None, typer.Option(help="LOW:HIGH; by default taken from the data")]


def parse_scale(text: str | None) -> Scale | None:
    """Return the scale of a text LOW:HIGH."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError as error:
        raise ConfigError(f"--scale must be LOW:HIGH, such as 1:5, not {text!r}") from error
    return Scale(low, high)
