"""The console in a real browser: every page, at every width, in both themes."""

import pytest
from playwright.sync_api import Browser, Route, expect

from service.processes.child import ServiceProcess
from tests.service.console.chromium import PHONE, Visit, needs_chromium

pytestmark = [pytest.mark.flow, needs_chromium]

PAGES = {
    "overview": "Overview",
    "try?user=user-0003": "Try it",
    "items": "Items",
    "users": "Users",
    "users/user-0003": "user-0003",
    "topics": "Topics",
    "models": "Models",
    "rankers": "Rankers",
    "experts": "Experts",
    "experiments": "Experiments",
    "keys": "Keys",
    "settings": "Settings",
}
MOST_BYTES = 300_000


def test_every_page_is_clean(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        for where, heading in PAGES.items():
            visit.open(where, heading)
            visit.check_accessible()
            visit.check_width()
        visit.check()


def test_every_page_can_be_read_in_the_dark(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url, theme="dark") as visit:
        for where, heading in PAGES.items():
            visit.open(where, heading)
            visit.check_accessible(only="color-contrast")
        visit.check()


def test_every_page_fits_a_phone(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url, PHONE) as visit:
        for where, heading in PAGES.items():
            visit.open(where, heading)
            visit.check_width()
        visit.page.get_by_role("button", name="Menu").click()
        visit.page.get_by_role("link", name="Try it").click()
        visit.page.get_by_role("heading", name="Try it", level=1).wait_for()
        visit.check()


def test_the_first_load_is_small(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        sizes: list[int] = []
        visit.page.on("response", lambda answer: sizes.append(len(answer.body())))
        visit.page.goto(running.url)
        expect(visit.page).to_have_url(f"{running.url}/console")
        visit.page.get_by_role("heading", name="Overview").wait_for()
        visit.settle()
        assert 10_000 < sum(sizes) < MOST_BYTES


def test_three_ratings_change_the_list(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        page = visit.page
        visit.open("try", "Try it")
        page.get_by_role("button", name="Invent a user").click()
        page.locator(".slate-row").first.wait_for()
        visit.settle()
        shown = page.locator(".slate-row .title")
        before = shown.all_text_contents()
        rows = page.locator(".rate-row")
        rows.nth(0).locator("label").nth(4).click()
        expect(page.locator(".moved").first).to_be_visible()
        for n, stars in ((1, 5), (2, 1)):
            rows.nth(n).locator("label").nth(stars - 1).click()
            expect(page.locator(".events li")).to_have_count(n + 1)
        # the last rating alone may move nothing
        expect(shown).not_to_have_text(before)
        visit.check()


def test_a_training_is_watched_to_its_end(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        page = visit.page
        # a stream that is cut is followed again
        page.route("**/v1/jobs/*/events", lambda route: route.abort(), times=1)
        visit.open("models", "Models")
        page.get_by_role("button", name="Train now").click()
        page.get_by_label("Model", exact=True).select_option("fbgd")
        page.get_by_label("Seconds for the search of settings").fill("0")
        page.get_by_label("Let the new model serve even if").check()
        page.get_by_role("button", name="Train", exact=True).click()
        training = page.locator(".job")
        expect(training.get_by_role("progressbar")).to_be_visible()
        expect(training.get_by_text("succeeded")).to_be_visible()
        expect(training.get_by_text("promoted")).to_be_visible()
        expect(page.get_by_role("button", name="Pin fbgd")).to_be_visible()
        visit.check_accessible()
        assert [fault for fault in visit.faults if "ERR_FAILED" not in fault] == []


def test_two_models_stand_side_by_side(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit:
        visit.open("try?user=user-0003", "Try it")
        visit.page.get_by_role("button", name="Two models side by side").click()
        lists = visit.page.locator(".slate-card")
        expect(lists).to_have_count(2)
        lists.nth(1).get_by_label("Model of this list").select_option("online")
        expect(lists.nth(1).locator(".slate-row")).to_have_count(10)
        visit.check()


def test_an_experiment_is_begun_compared_and_deleted(
    running: ServiceProcess, browser: Browser
) -> None:
    with Visit(browser, running.url) as visit, running.client() as client:
        page = visit.page
        visit.open("experiments", "Experiments")
        page.get_by_role("button", name="Begin an experiment").click()
        page.get_by_label("Name").fill("more-variety")
        page.get_by_label("Diversity").fill("0.3")
        page.get_by_role("button", name="Begin", exact=True).click()
        expect(page.get_by_text("nothing was shown yet")).to_be_visible()
        for user in (f"user-{n:04}" for n in range(40)):
            slate = client.get(f"/v1/users/{user}/recommendations", k=5)
            shown = {"user": user, "item": slate["items"][0]["item"], "rec_id": slate["rec_id"]}
            taken = 9 if slate["experiment"]["arm"] == "changed" else 1
            rows = [shown | {"kind": "impression"}] * 10 + [shown | {"kind": "click"}] * taken
            client.post("/v1/events", rows)
        expect(page.get_by_text("certainly more")).to_be_visible()
        visit.check_accessible()
        visit.check_width()
        page.get_by_role("button", name="Promote an arm").click()
        page.get_by_role("button", name="Promote", exact=True).click()
        expect(page.get_by_text("changed is used for everybody")).to_be_visible()
        page.get_by_role("button", name="Delete more-variety").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("No experiment yet")).to_be_visible()
        visit.check()


def test_an_item_is_found_edited_and_hidden(running: ServiceProcess, browser: Browser) -> None:
    with Visit(browser, running.url) as visit, running.client() as client:
        page = visit.page
        visit.open("items", "Items")
        title = client.get("/v1/items/item-0007")["features"]["title"]
        page.get_by_label("Search items").fill("item-0009")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_label("Search items").fill("")
        category = client.get("/v1/categories")["items"][0]
        page.get_by_label("Category").select_option(category["category"])
        expect(page.locator("tbody tr")).to_have_count(min(category["items"], 50))
        page.get_by_label("Category").select_option("")
        page.get_by_label("Search items").fill(title)
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=title, exact=True).click()
        page.get_by_role("heading", name=title, level=1).wait_for()
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Categories").fill("hedges, walls")
        page.get_by_label("Features").fill('{"title": "A <b>New</b> Hedge", "year": 2026}')
        page.get_by_role("button", name="Save").click()
        page.get_by_role("heading", name="A <b>New</b> Hedge", level=1).wait_for()
        page.get_by_role("button", name="Hide").click()
        expect(page.get_by_role("button", name="Show again")).to_be_visible()
        now = client.get("/v1/items/item-0007")
        assert (now["hidden"], now["categories"]) == (True, ["hedges", "walls"])
        assert now["features"] == {"title": "A <b>New</b> Hedge", "year": 2026}
        visit.check()


def test_a_page_says_what_to_do_where_nothing_answers(
    running: ServiceProcess, browser: Browser
) -> None:
    with Visit(browser, running.url) as visit:
        page = visit.page
        visit.open("items/no-such-item", "no-such-item")
        expect(page.get_by_role("alert").first).to_contain_text("This could not be read")
        page.route("**/v1/**", lambda route: route.abort())
        page.goto(f"{running.url}/console#/overview")
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        expect(page.get_by_role("alert")).to_contain_text("Is it still running?")
        page.unroute("**/v1/**")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", name="Ingest")).to_be_visible()
        visit.open("items/.", ".")
        expect(page.get_by_role("alert").first).to_contain_text("A browser cannot ask")


def test_a_service_that_was_busy_at_first_is_open_later(
    running: ServiceProcess, browser: Browser
) -> None:
    with Visit(browser, running.url) as visit:
        page = visit.page
        busy = {"code": "overloaded", "detail": "too many requests wait: try again"}
        page.route("**/v1/admin/keys", lambda route: route.fulfill(status=503, json=busy), times=1)
        page.goto(f"{running.url}/console")
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        page.get_by_role("link", name="Models").first.click()
        page.get_by_role("heading", name="Models", level=1).wait_for()
        expect(page.get_by_role("button", name="Train now")).to_be_enabled()
        assert len(visit.faults) == 1


def test_the_focus_goes_to_a_new_page_before_its_data_comes(
    running: ServiceProcess, browser: Browser
) -> None:
    with Visit(browser, running.url) as visit:
        page, waiting = visit.page, list[Route]()

        def hold(route: Route) -> None:
            waiting.append(route)

        visit.open("settings", "Settings")
        page.route("**/v1/items?*", hold)
        page.get_by_role("link", name="Items").click()
        expect(page.get_by_role("main")).to_be_focused()
        page.get_by_label("Search items").fill("hedge")
        while not waiting:
            page.wait_for_timeout(50)
        waiting[0].continue_()
        visit.settle()
        expect(page.get_by_label("Search items")).to_be_focused()
        visit.check()


def test_a_problem_has_a_button_for_the_call_that_mends_it(
    running: ServiceProcess, browser: Browser
) -> None:
    def say_wrong(route: Route) -> None:
        alarm = {
            "code": "untrained",
            "severity": "info",
            "title": "No trained model serves yet",
            "detail": "Lists get better with a training.",
            "about": None,
        }
        items = [alarm | {"mend": "retrain"}, alarm | {"title": "It is late", "mend": None}]
        route.fulfill(response=route.fetch(), json={"items": items})

    with Visit(browser, running.url) as visit:
        visit.page.route("**/v1/alarms", say_wrong)
        visit.open("overview", "Overview")
        found = visit.page.get_by_role("list", name="Problems found").get_by_role("listitem")
        expect(found).to_have_count(2)
        expect(found.nth(0).get_by_role("button", name="Train now")).to_be_visible()
        expect(found.nth(1)).to_contain_text("It is late")
        expect(found.nth(1).get_by_role("button")).to_have_count(0)
        visit.page.unroute_all(behavior="ignoreErrors")
        visit.check()
