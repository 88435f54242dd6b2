"""gorse-js, Gorse's client for JavaScript, works with this service."""

from pathlib import Path

from tests.openapi.tools import TOOLS, needs_node_tools, run
from tests.service.running import service

PROGRAM = Path(__file__).parent / "use_gorse.cjs"


@needs_node_tools
def test_every_call_of_gorse_js_works(tmp_path: Path) -> None:
    program = tmp_path / PROGRAM.name
    program.write_text(PROGRAM.read_text())
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    with service(tmp_path / "room", wait_timeout_ms=60_000, trainer=False) as running:
        run("node", program, running.url)
