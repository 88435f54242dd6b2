"""The folders of MovieLens: 100K (``u.data``), 1M and 10M (``.dat``), and the later ones (CSV)."""

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from service.files.foreign.tables import Foreign, Line, number_of, rows_of, unreadable
from service.files.opening import BadFile

_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
"""The flags in ``u.item``, in their order."""
_NO_GENRE = "(no genres listed)"


def read_movielens(folder: Path) -> Foreign:
    """Return what a folder holds; the titles are the feature ``title``."""
    if (folder / "u.data").is_file():
        feedback = {"feedback": _ratings(folder / "u.data", "\t")}
        return Foreign(_items_100k(folder), _users_100k(folder), feedback)
    if (folder / "ratings.dat").is_file():
        users = folder / "users.dat"
        return Foreign(
            _movies_dat(folder / "movies.dat"),
            _users_1m(users) if users.is_file() else (),
            {"feedback": _ratings(folder / "ratings.dat", "::")},
        )
    if (folder / "ratings.csv").is_file():
        movies, ratings = folder / "movies.csv", folder / "ratings.csv"
        return Foreign(
            _movies(_csv(movies, ("movieId", "title", "genres"))),
            (),
            {"feedback": _csv_ratings(ratings)},
        )
    raise BadFile(
        folder, "no folder of MovieLens: give one with u.data, ratings.dat or ratings.csv"
    )


def _ratings(path: Path, separator: str) -> Iterator[Line]:
    for number, cells in rows_of(path, separator, 4):
        yield number, _rating(path, number, cells)


def _csv_ratings(path: Path) -> Iterator[Line]:
    for number, cells in _csv(path, ("userId", "movieId", "rating", "timestamp")):
        yield number, _rating(path, number, cells)


def _rating(path: Path, number: int, cells: Sequence[str]) -> dict[str, Any]:
    user, item, rating, time = cells[:4]
    return {
        "user": user,
        "item": item,
        "rating": number_of(path, number, rating),
        "timestamp": number_of(path, number, time),
    }


def _movies_dat(path: Path) -> Iterator[Line]:
    # 1M is in Latin-1, 10M in UTF-8
    encoding = "utf-8" if _is_utf8(path) else "latin-1"
    yield from _movies(rows_of(path, "::", 3, encoding=encoding))


def _is_utf8(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    except OSError as error:
        raise unreadable(path, error) from error
    return True


def _movies(rows: Iterator[tuple[int, Sequence[str]]]) -> Iterator[Line]:
    for number, (item, title, genres, *_) in rows:
        categories = [one for one in genres.split("|") if one and one != _NO_GENRE]
        yield number, {"item": item, "categories": categories, "features": {"title": title}}


def _items_100k(folder: Path) -> Iterator[Line]:
    path = folder / "u.item"
    for number, cells in rows_of(path, "|", 5 + len(_GENRES), encoding="latin-1"):
        item, title, released = cells[:3]
        flags = zip(_GENRES, cells[5:], strict=False)
        said: dict[str, Any] = {
            "item": item,
            "categories": [genre for genre, flag in flags if flag.strip() == "1"],
            "features": {"title": title},
        }
        if released:
            said["available_from"] = _date(path, number, released)
        yield number, said


def _date(path: Path, number: int, text: str) -> str:
    try:
        return datetime.strptime(text, "%d-%b-%Y").replace(tzinfo=UTC).isoformat()
    except ValueError:
        raise BadFile(path, f"{text[:50]!r} is no date such as 01-Jan-1995", line=number) from None


def _users_100k(folder: Path) -> Iterator[Line]:
    path = folder / "u.user"
    for number, (user, age, gender, occupation, code, *_) in rows_of(path, "|", 5):
        features = {"gender": gender, "occupation": occupation, "zip_code": code}
        yield (
            number,
            {"user": user, "features": {"age": int(number_of(path, number, age))} | features},
        )


def _users_1m(path: Path) -> Iterator[Line]:
    for number, (user, gender, age, occupation, code, *_) in rows_of(path, "::", 5):
        features = {"gender": gender, "age_group": age, "occupation": occupation, "zip_code": code}
        yield number, {"user": user, "features": features}


def _csv(path: Path, header: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            if tuple(next(rows, ()))[: len(header)] != tuple(header):
                raise BadFile(path, f"the header is not {','.join(header)}", line=1)
            for row in rows:
                if len(row) < len(header):
                    says = f"the line has {len(row)} columns, not {len(header)}"
                    raise BadFile(path, says, line=rows.line_num)
                yield rows.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile(path, f"{error}: give a readable CSV") from error
