"""`llms.txt`, the overview for programs that read: its links and routes exist."""

import json
import re

from service.http.pages.llms import llms_txt
from tests.docs.pages import ROOT

TEXT = (ROOT / "llms.txt").read_text()
LINKS = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", TEXT, re.MULTILINE)


def test_it_begins_with_a_name_and_a_summary() -> None:
    assert re.match(r"# Hedgerow\n\n> \S", TEXT)


def test_every_link_leads_to_a_file_and_one_to_the_list_of_all_pages() -> None:
    assert len(LINKS) > 40
    assert [link for link in LINKS if not (ROOT / link).is_file()] == []
    assert "docs/README.md" in LINKS


def test_every_route_that_it_names_exists() -> None:
    openapi = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    named = re.findall(r"`(GET|POST) (/v1/[^`?]*)", TEXT)
    assert len(named) > 3
    assert [(m, path) for m, path in named if m.lower() not in openapi["paths"].get(path, {})] == []


def test_the_service_serves_the_same_text_with_links_to_its_own_pages() -> None:
    served = bytes(llms_txt().body).decode()
    assert served.partition("\n## ")[0] == TEXT.partition("\n## ")[0]
