"""What the console's files are on the wire."""

import json
import re
from html import unescape
from pathlib import Path
from typing import get_args

from service.console.serving import STATIC
from service.ranking.families import FAMILIES, AnyStrategy, SimilarStrategy, TrainedStrategy
from tests.api import Api

MOST_BYTES = 300_000
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
}


def test_all_of_the_console_is_small() -> None:
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) < MOST_BYTES


def test_nothing_in_it_names_another_host_or_parses_html() -> None:
    for path in STATIC.rglob("*"):
        if path.is_file():
            text = path.read_text().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacent|eval\(", text), path


def test_every_file_is_served_under_the_policy(api: Api) -> None:
    for path in (Path("index.html"), *(p.relative_to(STATIC) for p in STATIC.rglob("*.*"))):
        answer = api("GET", "/console" if path.name == "index.html" else f"/console/{path}")
        assert answer.status_code == 200, path
        assert set(answer.headers["content-security-policy"].split("; ")) >= POLICY
        assert len(answer.headers.get_list("content-security-policy")) == 1


def test_the_page_tells_the_scripts_which_features_to_show(api: Api) -> None:
    assert '<meta name="title-feature" content="title">' in api("GET", "/console").text


def test_the_page_tells_the_scripts_all_that_may_rank(api: Api) -> None:
    [told] = re.findall('<meta name="models" content="([^"]+)">', api("GET", "/console").text)
    models = {one["name"]: one for one in json.loads(unescape(told))}
    assert set(models) == set(get_args(AnyStrategy))
    assert models["fbgd"]["title"] == FAMILIES["fbgd"].title
    trained = {name for name, one in models.items() if one["is_trained"]}
    assert trained == set(get_args(TrainedStrategy))
    comparing = {name for name, one in models.items() if one["compares_items"]}
    assert comparing == set(get_args(SimilarStrategy))
    # no page has a list of its own
    for path in STATIC.rglob("*.js"):
        assert '"neighbours"' not in path.read_text(), path


def test_a_browser_that_has_a_file_is_not_sent_it_again(api: Api) -> None:
    first = api("GET", "/console/main.js", headers={"accept-encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip"
    assert first.headers["cache-control"] == "no-cache"
    again = api("GET", "/console/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = api("GET", "/console/main.js", headers={"if-none-match": '"an older one"'})
    assert (other.status_code, other.text) == (200, first.text)


def test_what_is_not_there_is_not_found(api: Api) -> None:
    for path in ("nothing.js", "../serving.py", "%2e%2e/serving.py", "shared", "/etc/passwd"):
        assert api("GET", f"/console/{path}").status_code == 404


def test_a_browser_is_led_to_the_console_and_a_program_is_not(api: Api) -> None:
    led = api("GET", "/", headers={"accept": "text/html,*/*;q=0.8"})
    assert (led.status_code, led.headers["location"]) == (307, "console")
    assert api("GET", "/", headers={"accept": "*/*"}).status_code == 404
