"""The receiver of the page on webhooks takes what the service signs, and nothing else."""

import runpy
import threading
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.serving.webhooks.signing import signed
from service.store.clock import now_ms
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "how-to" / "receive-webhooks.md"
SECRET = "whsec_" + "A" * 44
BODY = b'{"type":"alarm.opened","timestamp":"2026-11-20T16:05:12.250Z","data":{"code":"drift"}}'


@pytest.fixture
def receiver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of the page's receiver, and the names of its program."""
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    (tmp_path / "page.py").write_text("\n".join(blocks(PAGE, "python")))
    made = runpy.run_path(str(tmp_path / "page.py"))
    made["Receiver"].log_message = lambda *_: None
    with HTTPServer(("127.0.0.1", 0), made["Receiver"]) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", made
        server.shutdown()
        thread.join()


def test_it_takes_each_event_once_and_refuses_what_was_changed(
    receiver: tuple[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    url, _ = receiver
    now = now_ms() // 1_000

    def post(body: bytes = BODY, **changes: str) -> int:
        headers = signed(SECRET, "msg_1", now, BODY) | changes
        return httpx.post(url, content=body, headers=headers, trust_env=False).status_code

    assert [post(), post()] == [204, 204]
    assert capsys.readouterr().out.count("alarm.opened") == 1
    assert post(BODY.replace(b"drift", b"other")) == 400
    assert post(**{"webhook-id": "msg_2"}) == 400
    assert post(**{"webhook-timestamp": "soon"}) == 400
    assert post(**{"webhook-signature": "v1,"}) == 400
    # a key that was used before stands beside the new one
    both = "v1,AAAA " + signed(SECRET, "msg_1", now, BODY)["webhook-signature"]
    assert post(**{"webhook-signature": both}) == 204
    old = signed(SECRET, "msg_1", now - 3_600, BODY)
    assert post(**old) == 400


def test_the_alarms_that_no_webhook_gets_are_marked() -> None:
    rows = (DOCS / "reference" / "webhooks.md").read_text().splitlines()
    marked = {row.split("`")[1] for row in rows if "in `GET /v1/alarms` only" in row}
    # nothing is queued while the store cannot be trusted or takes no writes
    assert marked == {"store_away", "store_lost", "events_refused"}
    assert all(f"`{code}`" in PAGE.read_text() for code in marked)
