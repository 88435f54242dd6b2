"""Modules of ours that need a library which only an extra installs."""

import importlib
from typing import Any

from service.errors import Misconfigured


def load(module: str, *, extra: str, for_what: str) -> Any:
    """Import a module of ours; Misconfigured with what to install if its library is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        says = f"{for_what} needs {error.name}: pip install 'hedgerow[{extra}]'"
        raise Misconfigured(says) from None
