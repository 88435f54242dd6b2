"""The append-only files of the private server: whether they are all there, before it starts.

Since version 7 a server keeps its log as several files, and a manifest that names them. Without the
manifest it starts empty, says nothing, and writes over what is there.
"""

import re
from pathlib import Path

from service.errors import Misconfigured

FOLDER = "appendonlydir"
_NAME = re.compile(r"(?P<prefix>.+\.aof)\.(?P<number>\d+)\.(?P<kind>base|incr)\.(?:rdb|aof)")


def check_files(directory: Path) -> None:
    """Raise Misconfigured if there are files of a log, but no manifest."""
    if manifest_is_lost(directory):
        raise Misconfigured(
            f"{directory / FOLDER} holds a log, but its manifest is lost: the server would start "
            "empty. Put the manifest or a backup of the folder back, or let "
            "`hedgerow doctor --repair` write the manifest from the names of the files"
        )


def manifest_is_lost(directory: Path) -> bool:
    """Return whether there are files of a log, but no manifest."""
    folder = directory / FOLDER
    return folder.is_dir() and bool(_files(folder)) and not any(folder.glob("*.manifest"))


def lost_manifest(directory: Path) -> tuple[Path, str] | None:
    """Return the path and the text of the manifest that is lost, None if the names do not say.

    There must be one base at most, and no gap after it: then nothing else can have been in it.
    """
    found = _files(directory / FOLDER)
    bases = [(int(one["number"]), name) for name, one in found.items() if one["kind"] == "base"]
    later = sorted((int(o["number"]), name) for name, o in found.items() if o["kind"] == "incr")
    numbers = [number for number, _ in later]
    prefixes = {one["prefix"] for one in found.values()}
    whole = not numbers or numbers == [*range(numbers[0], numbers[-1] + 1)]
    if len(bases) > 1 or not whole or len(prefixes) != 1:
        return None
    lines = [f"file {name} seq {number} type b" for number, name in bases]
    lines += [f"file {name} seq {number} type i" for number, name in later]
    return directory / FOLDER / f"{prefixes.pop()}.manifest", "\n".join(lines) + "\n"


def superseded_files(directory: Path) -> set[str]:
    """Return the files of a log that its manifest no longer counts: a rewrite has replaced them."""
    folder = directory / FOLDER
    if not folder.is_dir():
        # before version 7 a server replaced its one file
        return set()
    current = set()
    for manifest in folder.glob("*.manifest"):
        fields = (line.split() for line in manifest.read_text().splitlines())
        current |= {one[1] for one in fields if one[-1] != "h"}
    return set(_files(folder)) - current


def _files(folder: Path) -> dict[str, re.Match[str]]:
    matches = ((path.name, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    return {name: match for name, match in matches if match is not None}
