"""Processes that only read and write stored bytes do not load numba (half a second)."""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import service.store
from service.store.models.registry import Registry
from tests.feed import Event
from tests.models import activated

ROOT = Path(service.store.__file__).parents[2]
STORE = sorted(
    module.name for module in pkgutil.walk_packages(service.store.__path__, "service.store.")
)
LIGHT = [
    "service.cli.operators.restore",
    "service.cli.operators.verify",
    "service.client",
    "service.configs",
    "service.ids",
    "service.processes.child",
    "service.processes.supervisor",
    "service.settings",
]
VERBS = {
    "dead-letters list": "none",
    "audit": "nothing is noted",
    "keys list": "no keys",
    "models list": "fbgd",
    "namespaces list": "t-",
    "export": "anna",
    "backup {room}": "1 events up to",
    "doctor": "fbgd",
}
"""The operator verbs, and a word of the answer on a store with a history and a model; ``{room}`` is
an empty folder."""
RUN = """
import sys
from service.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    code = end.code
print("numba" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


EXTRAS = ("confluent_kafka", "nats", "opentelemetry.exporter", "opentelemetry.sdk.trace", "pyarrow")
"""What only an extra installs, and nothing imports before it is asked for."""


def test_nothing_of_an_extra_is_imported_before_it_is_asked_for() -> None:
    modules = ["service.app", "service.learning.learner", "service.training.trainer"]
    modules += ["service.cli.clients.import_file", "service.cli.clients.ingest"]
    modules += ["service.cli.operators.export", "service.tracing"]
    says = f"print([name for name in {EXTRAS} if name in sys.modules])"
    ended = python("-c", f"import sys, {', '.join(modules)}; {says}")
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_every_module_of_the_store_is_looked_at() -> None:
    assert {"service.store.keys", "service.store.log.stream"} <= set(STORE)


FIRST_WITH_NUMBA = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    if "numba" in sys.modules:
        sys.exit(f"{module} loads numba")
"""


def test_modules_that_compute_nothing_load_no_numba() -> None:
    ended = python("-c", FIRST_WITH_NUMBA, *STORE, *LIGHT)
    assert ended.returncode == 0, ended.stderr


def test_a_module_that_loads_numba_is_found() -> None:
    ended = python("-c", FIRST_WITH_NUMBA, "service.settings", "core.kernels.jit")
    assert "core.kernels.jit loads numba" in ended.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_an_operator_verb_loads_no_numba(verb: str) -> None:
    ended = python("-c", RUN, *verb.split(), "--help")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == "False"


@pytest.fixture
def stored(learner_of, feed, client, namespace: str) -> str:
    """A namespace with a history, rows of the online model and an active model."""
    feed.append([Event("anna", "film", 5.0)])
    learner_of().step()
    activated(Registry(client, namespace))
    return namespace


@pytest.mark.parametrize("verb", VERBS)
def test_an_operator_verb_that_works_on_a_store_loads_no_numba(
    verb: str, redis_url: str, stored: str, tmp_path: Path
) -> None:
    words = ["-c", RUN, *verb.format(room=tmp_path).split()]
    ended = python(*words, HEDGEROW_REDIS_URL=redis_url, HEDGEROW_NAMESPACE=stored)
    assert VERBS[verb] in ended.stdout + ended.stderr
    assert ended.stderr.splitlines()[-1] == "False"
