"""The table of docs/reference/errors.md, made from the codes by ``make docs``."""

import re
import sys
from pathlib import Path

from service.http.pages.error_page import markdown_table

_TABLE = re.compile(r"(<!-- codes -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_table(page: str) -> str:
    """Return the page with the table as it is now."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{markdown_table()}\n\n", page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_table(path.read_text()))
