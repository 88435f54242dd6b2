"""Data of other systems on their way to a running service, for `hedgerow import --format`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from service.client import ServiceClient
from service.errors import Misconfigured
from service.files.documents import ROWS as DOCUMENTS
from service.files.feedback import ROWS as EVENTS
from service.files.foreign.by_time import parts_by_time
from service.files.foreign.gorse_dump import Section, read_gorse
from service.files.foreign.gorse_sending import check_gorse, send_gorse
from service.files.foreign.movielens import read_movielens
from service.files.foreign.recbole import read_recbole
from service.files.foreign.recombee import read_recombee
from service.files.foreign.tables import Foreign, parts_of
from service.files.sending import STREAM, OnPart, Summary, send_parts

Form = Literal["hedgerow", "gorse", "movielens", "recbole", "recombee"]

READERS: dict[Form, Callable[[Path, ServiceClient], Foreign]] = {
    "movielens": lambda folder, _: read_movielens(folder),
    "recbole": lambda folder, _: read_recbole(folder),
    "recombee": lambda folder, client: read_recombee(folder, lambda: _scale(client)),
}
"""Readers of folders by the name of their form."""


def send_foreign(client: ServiceClient, form: Form, folder: Path, on_part: OnPart) -> "Summaries":
    """Send the documents and the feedback of a folder; return what became of them."""
    given = READERS[form](folder, client)
    found: Summaries = {}
    for name, route, parts in (
        ("items", "/v1/items", parts_of(given.items, DOCUMENTS)),
        ("users", "/v1/users", parts_of(given.users, DOCUMENTS)),
        ("feedback", STREAM, parts_by_time(given, EVENTS)),
    ):
        summary = send_parts(client, route, parts, keyed=route == STREAM, on_part=on_part)
        if summary.accepted or summary.rejected_total:
            found[name] = summary
    return found


def _scale(client: ServiceClient) -> tuple[float, float]:
    """Return the lowest and the highest rating of the service."""
    low, high = client.get("/v1/stats")["scale"].split(":")
    return float(low), float(high)


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
