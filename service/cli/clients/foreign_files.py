"""Data of other systems on their way to a running service, for `hedgerow import --format`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from service.client import ServiceClient
from service.errors import Misconfigured
from service.files.documents import ROWS as DOCUMENTS
from service.files.feedback import ROWS as EVENTS
from service.files.foreign.gorse_dump import Section, read_gorse
from service.files.foreign.gorse_sending import check_gorse, send_gorse
from service.files.foreign.movielens import read_movielens
from service.files.foreign.recbole import read_recbole
from service.files.foreign.tables import Foreign, Line, parts_of
from service.files.sending import STREAM, OnPart, Summary, send_parts

Form = Literal["hedgerow", "gorse", "movielens", "recbole"]

READERS: dict[Form, Callable[[Path], Foreign]] = {
    "movielens": read_movielens,
    "recbole": read_recbole,
}
"""Readers of folders by the name of their form."""


def send_foreign(client: ServiceClient, form: Form, folder: Path, on_part: OnPart) -> "Summaries":
    """Send the documents and the feedback of a folder; return what became of them."""
    given = READERS[form](folder)
    found: Summaries = {}
    for name, route, lines, rows in (
        ("items", "/v1/items", given.items, DOCUMENTS),
        ("users", "/v1/users", given.users, DOCUMENTS),
        ("feedback", STREAM, given.feedback, EVENTS),
    ):
        summary = _sent(client, route, lines, rows, on_part)
        if summary.accepted or summary.rejected_total:
            found[name] = summary
    return found


def send_gorse_files(
    client: ServiceClient, files: dict[Section, Path | None], on_part: OnPart
) -> "Summaries":
    """Send files of Gorse: a dump, or lines of JSON."""
    check_gorse(client)
    found: Summaries = {}
    for section, path in files.items():
        if path is not None:
            send_gorse(client, read_gorse(path, section), found, lambda one: on_part(0.0, one))
    return found


def check_files(form: Form, file: Path | None, documents: Iterable[Path | None]) -> None:
    """Raise if the files cannot be those of a form."""
    if form in READERS and (file is None or any(documents)):
        raise Misconfigured(f"--format {form} reads one folder, and no --items or --users: name it")


Summaries = dict[str, Summary]


def _sent(
    client: ServiceClient, route: str, lines: Iterable[Line], rows: int, on_part: OnPart
) -> Summary:
    parts = parts_of(lines, rows)
    return send_parts(client, route, parts, keyed=route == STREAM, on_part=on_part)
