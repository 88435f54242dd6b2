"""What a page tracks reaches the service from a real browser, also what it notes last of all."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hedgerow_client import Client
from service.settings import Settings
from tests.api import learning, served
from tests.clients.js.node import CLIENT, HERE, needs_node, room_of
from tests.server import wait_until

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
NOTED = {f"left-{n}" for n in range(7)} | {f"stayed-{n}" for n in range(5)}


@needs_node
@pytest.mark.skipif(not BROWSER, reason="install chromium to try the tracker in a browser")
def test_what_a_page_tracks_counts_once(tmp_path: Path, namespace: str, redis_url: str) -> None:
    settings = Settings(namespace=namespace, data_dir=tmp_path / "data")
    room = room_of(tmp_path)
    shutil.copy(HERE / "site.js", room)
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        url = f"http://{host}:{port}"
        with Client(url) as client:
            client.wait_until_ready()
            site = subprocess.Popen(
                ["node", "site.js", url, CLIENT / "src"],
                cwd=room,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert site.stdout
            address = site.stdout.readline().strip()
            browser = subprocess.Popen(
                [BROWSER, *OPTIONS, f"--user-data-dir={tmp_path / 'browser'}", address],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                wait_until(lambda: counted(client) >= len(NOTED))
            finally:
                for process in (browser, site):
                    process.terminate()
                    process.wait()
                site.stdout.close()
            clicks = [row["item"] for row in client.iterate_history("visitor")]
            assert sorted(clicks) == sorted(item for item in NOTED if item.startswith("left"))
            assert counted(client) == len(NOTED)


def counted(client: Client) -> int:
    """Return how many events the service has learned, each once."""
    [partition] = client.get_stats()["partitions"]
    return partition["learned_through"] - partition["duplicates"]
