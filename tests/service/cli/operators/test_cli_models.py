"""`hedgerow models`: an operator chooses the served models, with or without a running api."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from click.testing import Result
from typer.testing import CliRunner

from service.cli.operators.doctor import Finding, examine
from service.cli.operators.models import app
from service.errors import Conflict, NotFound
from service.settings import Settings
from service.store.connection import connect
from service.store.models.registry import Registry
from service.store.namespace import open_namespace
from tests.models import activated, published

NOT_JUDGED = {"outcome": "not_judged", "reason": "too few"}


class Operator:
    """Types commands."""

    def __init__(self, redis_url: str, namespace: str) -> None:
        self._settings = {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_NAMESPACE": namespace}

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, arguments, env=self._settings | {"COLUMNS": "80"})

    def json(self, *arguments: str) -> Any:
        result = self(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def operator(redis_url: str, namespace: str) -> Operator:
    return Operator(redis_url, namespace)


@pytest.fixture
def registry(redis_url: str, namespace: str) -> Iterator[Registry]:
    client: redis.Redis
    with connect(redis_url, role="test") as client:
        yield Registry(client, namespace)


def test_without_trained_models_the_output_says_what_to_do(operator: Operator) -> None:
    assert "hedgerow retrain" in operator("list").stdout
    assert "no model has been promoted yet" in operator("changes").stdout
    assert (operator.json("list"), operator.json("changes")) == ([], [])


def test_models_are_listed_with_what_serves(operator: Operator, registry: Registry) -> None:
    old, new = activated(registry, seed=1), published(registry, seed=2)
    listed = operator.json("list")
    assert [(one["version"], one["active"], one["pinned"]) for one in listed] == [
        (new.version, False, False),
        (old.version, True, False),
    ]
    table = operator("list").stdout
    assert old.version[:12] in table
    assert "0.2500" in table


def test_on_80_columns_versions_and_times_are_whole(operator: Operator, registry: Registry) -> None:
    first = activated(registry, seed=1, strategy="exmlds").version
    second = published(registry, seed=2, strategy="exmlds", decision=NOT_JUDGED).version
    why = "because it recommends what people then watch, more often than the one before did"
    operator("pin", second, "--why", why)
    for line in (listed := operator("list").stdout.splitlines())[1:]:
        version, _, day, minute, *_ = line.split()
        assert version in {first[:12], second[:12]}
        assert (len(day), len(minute)) == (10, 5)
    assert len(listed) == 3
    assert listed[1].rstrip().endswith("pinned")
    told = operator("changes").stdout
    assert f" pinned exmlds {second[:12]} instead of {first[:12]}\n" in told
    assert " ".join(told.split()).count(f"command line: {why}") >= 1
    assert max(map(len, (*listed, *told.splitlines()))) <= 80
    operator("unpin", second)
    assert f" unpinned exmlds {second[:12]}\n" in operator("changes").stdout


def test_a_version_is_named_by_how_it_begins(operator: Operator, registry: Registry) -> None:
    old, new = activated(registry, seed=1).version, published(registry, seed=2).version
    promoted = operator.json("promote", new[:12], "--why", "by hand")
    assert (promoted["version"], promoted["active"]) == (new, True)
    assert operator.json("rollback", "--why", "back")["version"] == old
    assert operator.json("pin", new[:12])["pinned"] is True
    unpinned = operator.json("unpin", new[:12])
    assert (unpinned["active"], unpinned["pinned"]) == (True, False)
    said = [(one["action"], one["who"], one["why"]) for one in operator.json("changes")]
    assert said == [
        ("unpinned", "command line", ""),
        ("pinned", "command line", ""),
        ("rolled_back", "command line", "back"),
        ("promoted", "command line", "by hand"),
        ("promoted", "a test", ""),
    ]
    assert "rolled_back" in operator("changes").stdout


def test_commands_print_their_changes(operator: Operator, registry: Registry) -> None:
    version = published(registry).version
    assert f"{version[:12]} active" in operator("promote", version).stderr
    assert f"{version[:12]} active, pinned" in operator("pin", version).stderr


def test_a_version_that_is_not_unique_is_refused(operator: Operator, registry: Registry) -> None:
    for seed in range(17):
        published(registry, seed=seed)
    first = [record.version[0] for record in registry.records()]
    twice = next(digit for digit in first if first.count(digit) > 1)
    several, none = operator("promote", twice).exception, operator("pin", "x").exception
    assert isinstance(several, Conflict)
    assert f"models begin with {twice!r}" in str(several)
    assert isinstance(none, NotFound)
    assert "there is no model 'x'" in str(none)
    assert isinstance(operator("rollback").exception, Conflict)


def test_doctor_reads_what_serves_and_names_what_is_damaged(
    operator: Operator, registry: Registry, namespace: str, redis_url: str
) -> None:
    with connect(redis_url, role="test") as client:
        open_namespace(client, Settings(namespace=namespace))
        assert "hedgerow retrain" in str(doctor(redis_url, namespace)["models"].value)
        old, new = activated(registry, seed=1), activated(registry, seed=2, strategy="ocmf")
        registry.pin(new.version, "me", "")
        found = doctor(redis_url, namespace)
        assert str(found["model fbgd"].value).startswith(f"{old.version}: fbgd of ")
        assert str(found["model ocmf"].value).endswith("bytes, pinned")
        assert found["model fbgd"].wrong is found["model ocmf"].wrong is None
        client.set(registry._chunk_keys(old.version)[0], b"")
        wrong = doctor(redis_url, namespace)["model fbgd"].wrong
        assert wrong is not None
        assert "hedgerow models rollback" in wrong


def doctor(redis_url: str, namespace: str) -> dict[str, Finding]:
    settings = Settings(redis_url=redis_url, namespace=namespace)
    return {finding.topic: finding for finding in examine(settings)}
