"""The console where the service has keys: nothing without one, reading with another."""

import pytest
from playwright.sync_api import Browser, expect

from service.client import Refused, ServiceClient
from service.processes.child import ServiceProcess
from tests.server import wait_until
from tests.service.console.chromium import Visit, needs_chromium

pytestmark = [pytest.mark.flow, needs_chromium]


def is_refused(client: ServiceClient) -> bool:
    """Return whether the service wants a key."""
    try:
        client.get("/v1/stats")
    except Refused:
        return True
    return False


def test_keys_are_made_used_and_forgotten(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        page = visit.page
        visit.open("keys", "Keys")
        page.get_by_role("button", name="Make a key").click()
        page.get_by_label("Name").fill("operations")
        page.get_by_role("button", name="Make", exact=True).click()
        admin = page.get_by_role("textbox", name="Secret").input_value()
        page.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_text("You may do everything.")).to_be_visible()
        with running.client(key=admin) as client:
            reader = client.post("/v1/admin/keys", {"role": "read", "name": "a reader"})["secret"]
        assert page.evaluate("localStorage.length") <= 1
        visit.check()

    with Visit(browser, running.url) as visit, running.client() as open_client:
        wait_until(lambda: is_refused(open_client))
        page = visit.page
        page.goto(f"{running.url}/console")
        expect(page.get_by_role("heading", name="Keys", level=1)).to_be_visible()
        page.get_by_label("API key").fill(reader)
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_text("You may read.")).to_be_visible()
        for where, locked in (("models", "Train now"), ("items/item-0003", "Edit")):
            page.goto(f"{running.url}/console#/{where}")
            expect(page.get_by_role("button", name=locked).first).to_be_disabled()
        visit.open("try?user=user-0003", "Try it")
        expect(page.locator(".stars:enabled")).to_have_count(0)
        page.goto(f"{running.url}/console#/keys")
        page.get_by_role("button", name="Forget it").click()
        expect(page.get_by_text("The service asks for a key")).to_be_visible()
        outside = [fault for fault in visit.faults if "status of 40" not in fault]
        assert outside == []
