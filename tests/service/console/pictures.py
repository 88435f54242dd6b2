"""The pictures of the documentation, taken of a running service with a small world.

python -m tests.service.console.pictures    write docs/how-to/pictures anew
"""

import tempfile
from pathlib import Path

from service.client import UNFINISHED
from service.demo.sample_world import SampleWorld
from tests.server import wait_until
from tests.service.console.chromium import Visit, browser
from tests.service.console.world import fill, ratings, show_and_click
from tests.service.running import service

FOLDER = Path(__file__).parents[3] / "docs" / "how-to" / "pictures"
PAGES = {
    "overview": ("overview", "Overview"),
    "try": ("try?user=user-0003", "Try it"),
    "models": ("models", "Models"),
}
SIZE = (1160, 720)
EARLIER, STEPS = 6_000, 16
"""Ratings before the overview is watched, and seconds for which it is."""


def take() -> None:
    """Write all pictures."""
    world = SampleWorld(n_users=200, n_items=150)
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="hr-") as room,
        service(Path(room)) as running,
        running.client() as client,
        browser() as chromium,
    ):
        client.wait_until_ready()
        fill(client, world, EARLIER)
        job = client.post("/v1/retrain", {"budget_s": 3, "promote_unjudged": True})
        path = f"/v1/jobs/{job['id']}"
        wait_until(lambda: client.get(path)["status"] not in UNFINISHED)
        show_and_click(client, world.users[:12])
        with Visit(chromium, running.url, SIZE) as visit:
            for name, (where, heading) in PAGES.items():
                visit.open(where, heading)
                if name == "overview":
                    for second in range(STEPS):
                        rows = ratings(world, EARLIER + 100 * second, 20 + 3 * second % 17)
                        client.post("/v1/events", rows)
                        visit.page.wait_for_timeout(1000)
                visit.page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    take()
