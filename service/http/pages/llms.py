"""`/llms.txt`: what a program that reads should know of the service before it uses it."""

from pathlib import Path

from starlette.responses import PlainTextResponse, Response


def llms_txt() -> Response:
    """Return the answer with the text; it begins as llms.txt of the repository does."""
    return PlainTextResponse(Path(__file__).with_name("llms.txt").read_text(encoding="utf-8"))
