"""The documentation is true: settings, verbs, error codes, keys, papers, the first requests."""

import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import httpx
import pytest
import redis

from service.api.gorse.reference import with_tables
from service.api.gorse.routes import ROUTES
from service.api.operation_schemas import Ready
from service.cli.main import COMMANDS
from service.client import ndjson
from service.demo.worlds import sample_world
from service.http.codes import CODES
from service.http.pages.error_reference import with_table
from service.metrics.reference import metrics_reference
from service.processes.child import ServiceProcess
from service.settings_reference import settings_reference
from service.store import keys
from service.store.server.embedded import running_server
from service.telemetry import EVENTS
from tests.docs.pages import DOCS, PAGES, ROOT, all_code, name_of
from tests.service.running import service

REDIS_TYPES = ("hash", "list", "string", "stream", "zset")


def test_the_settings_reference_is_fresh() -> None:
    written = (ROOT / "docs/reference/settings.md").read_text()
    assert written == settings_reference() + "\n", "run `make docs`"


def test_the_metrics_reference_is_fresh() -> None:
    written = (ROOT / "docs/reference/metrics.md").read_text()
    assert written == metrics_reference() + "\n", "run `make docs`"


def test_the_tables_of_gorses_routes_are_fresh() -> None:
    written = (DOCS / "reference" / "gorse.md").read_text()
    assert all(route.path in written for route in ROUTES)
    assert written == with_tables(written), "run `make docs`"


def test_every_verb_that_a_page_names_exists_and_the_reference_names_every_verb() -> None:
    named = set(re.findall(r"\bhedgerow ([a-z]+(?:-[a-z]+)*)\b", all_code()))
    assert named <= set(COMMANDS)
    page = (DOCS / "reference" / "command-line.md").read_text()
    assert set(COMMANDS) <= set(re.findall(r"hedgerow ([a-z]+(?:-[a-z]+)*)", page))


def contract(beginning: str) -> set[str]:
    """Return the modules of the import contract whose name begins like this."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [one] = [one for one in linter["contracts"] if one["name"].startswith(beginning)]
    return set(one["modules"])


def test_the_contract_of_route_modules_names_every_one_of_them() -> None:
    sources = (ROOT / "service" / "api").rglob("*.py")
    routes = [path for path in sources if "@router." in path.read_text()]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in routes}
    assert modules == contract("route modules")


def test_the_contract_of_verbs_names_every_one_of_them() -> None:
    modules = {module.removesuffix(".main") for module, _ in COMMANDS.values()}
    assert modules == contract("verbs")


def test_every_warning_of_the_log_says_what_to_do() -> None:
    calls = re.compile(r"\.(?:warning|error|exception)\(\s*\"([a-z_]+)\"")
    sources = (ROOT / "service").rglob("*.py")
    logged = {name for source in sources for name in calls.findall(source.read_text())}
    page = (DOCS / "how-to" / "read-the-log.md").read_text()
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", page, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert len(logged) > 20
    assert logged <= explained <= set(EVENTS) | set(Ready.model_fields)


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", all_code()))
    assert named
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_source_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:core|service|hedgerow|tests|bench|docs)/[\w/.-]+)`", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_package_and_lone_module_is_on_the_map() -> None:
    page = (ROOT / "docs/reference/source-code.md").read_text()
    [plan] = re.findall(
        r"^## Packages and modules\n\n```\n(.*?)```", page, re.MULTILINE | re.DOTALL
    )
    there = {
        path.parent.name + "/" if path.name == "__init__.py" else path.name
        for top in ("core", "service")
        for path in [*(ROOT / top).glob("*.py"), *(ROOT / top).glob("*/__init__.py")]
    }
    assert there - set(re.findall(r"\w+(?:\.py|/)", plan)) == set()


def test_the_table_of_error_codes_is_fresh() -> None:
    written = (DOCS / "reference" / "errors.md").read_text()
    assert [name for name in CODES if f"`{name}`" not in written] == []
    assert written == with_table(written), "run `make docs`"


def test_every_paper_that_a_formula_names_is_in_the_list() -> None:
    listed = (ROOT / "docs/reference/papers.md").read_text()
    named = {
        key.strip()
        for source in (ROOT / "core").rglob("*.py")
        for group in re.findall(r"  \[([A-Z][^\]\n]*)\]", source.read_text())
        for key in re.split(r"[,;]", group)
        if re.match(r"\s*[A-Z][A-Za-z-]+( and [A-Z][a-z]+)?( \d{4})?$", key) and "." not in key
    }
    assert {key for key in named if f"[{key}]" not in listed} == set()


def test_every_key_says_its_type() -> None:
    described = {
        f"{kind.__name__}.{name}": inspect.getdoc(member.fget if is_property else member) or ""
        for kind in (keys.NamespaceKeys, keys.PartitionKeys)
        for name, member in vars(kind).items()
        if (is_property := isinstance(member, property)) or inspect.isfunction(member)
        if not name.startswith("_")
    }
    assert described
    assert [name for name, text in described.items() if not text.startswith(REDIS_TYPES)] == []


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    # the very world that `make demo` shows, a few seconds after its start
    world = sample_world(seed=0)
    rows = list(islice(world.ratings, 200))
    with service(tmp_path_factory.mktemp("docs")) as whole:
        with whole.client() as client:
            client.wait_until_ready()
            client.upload("/v1/items", ndjson(world.documents))
            client.wait_until_learned(client.upload("/v1/ratings/stream", ndjson(rows)).sequence)
        yield whole


def curl_lines() -> list[str]:
    return re.findall(r"^curl .*$", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", curl_lines())
def test_the_curl_lines_of_the_readme_work(running: ServiceProcess, line: str) -> None:
    words = shlex.split(line)[1:]
    headers, body = {}, None
    while len(words) > 1:
        option, value, *words = words
        if option == "-H":
            name, _, text = value.partition(":")
            headers[name] = text.strip()
        elif option == "-d":
            body = value
        else:
            pytest.fail(f"the test does not know curl's {option}")
    url = words[0].replace("http://127.0.0.1:8000", running.url)
    answer = httpx.request("GET" if body is None else "POST", url, headers=headers, content=body)
    assert answer.is_success, answer.text


def test_every_key_in_the_store_is_in_the_data_dictionary(running: ServiceProcess) -> None:
    shapes = [re.compile(shape) for shape in key_shapes()]
    with redis.Redis.from_url(str(running_server(running.log.parent))) as client:
        stored = [key.decode() for key in client.scan_iter(count=1000)]
    assert len(stored) > 20
    assert [key for key in stored if not any(shape.fullmatch(key) for shape in shapes)] == []


def key_shapes() -> Iterator[str]:
    """Return every key of the data dictionary, with `.*` for ids and numbers."""
    yield "rq:.*"
    for made in (keys.NamespaceKeys("main"), keys.PartitionKeys("main", 0)):
        for name, member in vars(type(made)).items():
            if isinstance(member, property):
                yield re.escape(getattr(made, name))
            elif inspect.isfunction(member) and not name.startswith("_"):
                n_arguments = len(inspect.signature(member).parameters) - 1
                yield re.escape(member(made, *["ANY"] * n_arguments)).replace("ANY", ".*")
