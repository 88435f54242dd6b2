"""`/docs/errors`: what each error code means and what to do; the `type` of a problem leads here."""

from html import escape

from starlette.responses import HTMLResponse, Response

from service.http.codes import CODES, ErrorCode
from service.http.pages.route_page import STYLE
from service.http.sites import page_policy


def error_page() -> Response:
    """Return the answer with the page."""
    return HTMLResponse(page(), headers=page_policy())


def page() -> str:
    """Return the page, with an anchor for each code."""
    codes = "".join(_paragraph(name, code) for name, code in CODES.items())
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Error codes</title>'
        f"<style>{STYLE} h2 {{ font-size: 1.1rem; }} :target {{ background: #ff02; }}</style>\n"
        "<h1>Error codes</h1>\n<p>An error is <code>application/problem+json</code>. Programs act "
        "on its <code>code</code>; its <code>detail</code> tells a person what to do in this case. "
        f'All routes: <a href="../docs">/docs</a>.</p>\n{codes}</html>\n'
    )


def markdown_table() -> str:
    """Return the same as a table for docs/reference/errors.md."""
    rows = [
        f"| `{name}` | {code.status} | {code.meaning} | {code.remedy} |"
        for name, code in CODES.items()
    ]
    return "\n".join(["| code | status | meaning | what to do |", "|---|---|---|---|", *rows])


def _paragraph(name: str, code: ErrorCode) -> str:
    return (
        f'<h2 id="{name}"><code>{name}</code></h2>\n'
        f"<p>Status {code.status}. {_html(code.meaning)} {_html(code.remedy)}</p>\n"
    )


def _html(text: str) -> str:
    """Return a sentence with its code between tags.

    >>> _html("Send `a & b`.")
    'Send <code>a &amp; b</code>.'
    """
    parts = escape(text).split("`")
    return "".join(f"<code>{one}</code>" if n % 2 else one for n, one in enumerate(parts))
