"""The tables of routes in docs/reference/gorse.md, made from the code by ``make docs``."""

import re
import sys
from pathlib import Path

from service.api.gorse.routes import NOT_OFFERED, ROUTES

_TABLE = re.compile(r"(<!-- (offered|not offered) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return the page with the tables as they are now."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{_TABLES[found[2]]()}\n", page)


def _offered() -> str:
    rows = (
        f"| `{route.method} {route.path}` | {route.differs or 'the same'} |\n" for route in ROUTES
    )
    return "| Route | Compared with Gorse |\n| --- | --- |\n" + "".join(rows)


def _not_offered() -> str:
    rows = (f"| `{path}` | {instead} |\n" for path, instead in NOT_OFFERED)
    return "| Route | Instead |\n| --- | --- |\n" + "".join(rows)


_TABLES = {"offered": _offered, "not offered": _not_offered}

if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text()))
