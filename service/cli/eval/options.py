"""Options that several verbs of ``hedgerow eval`` share."""

from typing import Annotated

import typer

from service.cli.options import BUDGET_HELP

BudgetS = Annotated[float, typer.Option(min=0.0, help=BUDGET_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout")]
