"""Following the registry: models are swapped whole; one that cannot be loaded changes nothing."""

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
import redis
from structlog.testing import capture_logs

from core.batch.snapshot import objective_of
from core.snapshot import Snapshot
from service.errors import StoreUnavailable
from service.ranking.trained.fold_in import FoldIn
from service.served_models import ActiveModel, ActiveModels
from service.settings import Settings
from service.store.connection import connect
from service.store.identity.survey import survey
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
from service.store.namespace import open_namespace
from service.store.namespaces import delete_namespace
from tests.models import activated, published
from tests.server import PrivateServer, wait_until


@pytest.fixture
def registry(client: redis.Redis, namespace: str) -> Registry:
    return Registry(client, namespace)


@pytest.fixture
def models(registry: Registry, tmp_path: Path) -> Iterator[ActiveModels]:
    models = ActiveModels(registry, SnapshotFiles(tmp_path / "snapshots"))
    yield models
    models.close()


def serving(models: ActiveModels) -> dict[str, str]:
    return models.current.versions


def damage(registry: Registry, client: redis.Redis, version: str) -> bytes:
    """Flip bits of a model's first chunk in the store and return the original chunk."""
    key = registry._chunk_keys(version)[0]
    good = client.get(key)
    assert isinstance(good, bytes)
    client.set(key, bytes([good[0] ^ 1]) + good[1:])
    return good


def test_an_empty_registry_is_ready_once_it_was_read(models: ActiveModels) -> None:
    assert (models.ready, serving(models)) == (False, {})
    models.refresh()
    assert (models.ready, serving(models)) == (True, {})


def test_the_model_that_the_registry_names_is_served(
    models: ActiveModels, registry: Registry
) -> None:
    first = activated(registry, seed=1)
    other = activated(registry, seed=2, strategy="ocmf")
    published(registry, seed=3)
    with capture_logs() as logs:
        models.refresh()
    assert serving(models) == {"fbgd": first.version, "ocmf": other.version}
    assert models.current.models["fbgd"].record == first
    assert objective_of(models.current.models["fbgd"].snapshot).item_factors.shape == (12, 4)
    assert {(log["event"], log["strategy"]) for log in logs} == {
        ("model_activated", "fbgd"),
        ("model_activated", "ocmf"),
    }


def test_models_outlive_a_store_that_is_emptied_after_a_rollback(
    models: ActiveModels, registry: Registry, client: redis.Redis, namespace: str
) -> None:
    first = activated(registry)
    models.refresh()
    open_namespace(client, Settings(namespace=namespace))
    seen = survey(client, namespace, 1)
    # a rollback that was healed, then a store that cannot be trusted
    models.forget(seen, went_back=True)
    models.hold(seen)
    delete_namespace(client, namespace)
    models.refresh()
    assert serving(models) == {"fbgd": first.version}
    # an operator has accepted the empty store
    models.forget(seen, went_back=True)
    models.refresh()
    assert serving(models) == {}


def test_a_model_is_warmed_before_it_serves(models: ActiveModels, registry: Registry) -> None:
    activated(registry)
    models.refresh()
    ranker = models.current.models["fbgd"].ranker
    assert isinstance(ranker, FoldIn)
    assert "learned" in vars(ranker.users.row), "the first request would have to find it out"


def test_a_promotion_swaps_one_frozen_object(models: ActiveModels, registry: Registry) -> None:
    first = activated(registry, seed=1)
    models.refresh()
    before = models.current
    models.refresh()
    assert models.current is before, "nothing changed"
    second = activated(registry, seed=2)
    other = activated(registry, seed=3, strategy="ocmf")
    kept = models.current.models["fbgd"]
    models.refresh()
    assert serving(models) == {"fbgd": second.version, "ocmf": other.version}
    assert before.models["fbgd"] is kept, "who read the old set keeps it"
    assert kept.record == first
    registry.roll_back("fbgd", who="me", why="")
    fbgd, ocmf = models.current.models["fbgd"], models.current.models["ocmf"]
    models.refresh()
    assert models.current.models["ocmf"] is ocmf
    assert models.current.models["fbgd"] is not fbgd


class Preparing:
    """Prepares models until the test declares them ready."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, Future[None]]] = []
        self.prepares = True

    def __call__(self, model: ActiveModel) -> Future[None] | None:
        if not self.prepares:
            return None
        self.begun.append((model.record.version, Future()))
        return self.begun[-1][1]


@pytest.fixture
def preparing() -> Preparing:
    return Preparing()


@pytest.fixture
def prepared(registry: Registry, tmp_path: Path, preparing: Preparing) -> Iterator[ActiveModels]:
    models = ActiveModels(registry, SnapshotFiles(tmp_path / "snapshots"), preparing)
    yield models
    models.close()


def test_a_new_model_takes_over_once_it_is_prepared(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    first = activated(registry, seed=1)
    prepared.refresh()
    assert serving(prepared) == {"fbgd": first.version}, "there is nobody to wait with"
    second = activated(registry, seed=2)
    for _ in range(2):
        prepared.refresh()
        assert serving(prepared) == {"fbgd": first.version}
    [(version, ready)] = preparing.begun
    assert version == second.version
    ready.set_result(None)
    prepared.refresh()
    assert serving(prepared) == {"fbgd": second.version}


def test_models_that_come_together_take_over_together(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    def both(seed: int) -> dict[str, str]:
        families = enumerate(("fbgd", "ocmf"), 10 * seed)
        made = {name: activated(registry, seed=at, strategy=name) for at, name in families}
        prepared.refresh()
        return {name: one.version for name, one in made.items()}

    old, new = both(1), both(2)
    assert (serving(prepared), prepared.coming.versions) == (old, new)
    for _, ready in preparing.begun:
        assert serving(prepared) == old
        ready.set_result(None)
        prepared.refresh()
    assert serving(prepared) == prepared.coming.versions == new


def test_the_previous_model_takes_over_at_once(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    first, second = activated(registry, seed=1), activated(registry, seed=2)
    registry.pin(second.version, "me", "it is good")
    registry.unpin(second.version, "me", "it is not")
    prepared.refresh()
    assert registry.roll_back("fbgd", who="me", why="") == first.version
    prepared.refresh()
    assert serving(prepared) == {"fbgd": first.version}, "in whichever process it served"
    registry.set_active("fbgd", second.version, expected=first.version, who="me", why="")
    prepared.refresh()
    assert serving(prepared) == {"fbgd": second.version}
    assert preparing.begun == []


def test_a_model_that_is_promoted_and_pinned_is_prepared_all_the_same(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    activated(registry, seed=1)
    prepared.refresh()
    second = activated(registry, seed=2)
    registry.pin(second.version, "me", "it is good")
    prepared.refresh()
    assert [version for version, _ in preparing.begun] == [second.version]


def test_a_roll_back_ends_what_prepares_the_model_it_goes_back_from(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    first = activated(registry, seed=1)
    prepared.refresh()
    activated(registry, seed=2)
    prepared.refresh()
    before = prepared.current
    registry.roll_back("fbgd", who="me", why="")
    prepared.refresh()
    assert prepared.current is before
    assert serving(prepared) == {"fbgd": first.version}
    assert [ready.cancelled() for _, ready in preparing.begun] == [True]


def test_a_model_that_is_being_prepared_holds_up_no_other_strategy(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    ranking, old = activated(registry, seed=1), activated(registry, seed=2, strategy="ocmf")
    activated(registry, seed=3, strategy="ocmf")
    prepared.refresh()
    activated(registry, seed=4)
    registry.roll_back("ocmf", who="me", why="")
    prepared.refresh()
    assert serving(prepared) == {"fbgd": ranking.version, "ocmf": old.version}
    [(_, ready)] = preparing.begun
    assert not ready.done()


def test_a_model_without_anything_to_prepare_takes_over_at_once(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    preparing.prepares = False
    for seed in (1, 2):
        new = activated(registry, seed=seed, strategy="ocmf")
        prepared.refresh()
        assert serving(prepared) == {"ocmf": new.version}


def test_the_end_waits_for_nothing_that_is_being_prepared(
    prepared: ActiveModels, preparing: Preparing, registry: Registry
) -> None:
    activated(registry, seed=1)
    prepared.refresh()
    activated(registry, seed=2)
    prepared.refresh()
    prepared.close()
    assert [ready.cancelled() for _, ready in preparing.begun] == [True]


def test_a_damaged_model_is_a_fault_and_the_old_one_goes_on(
    models: ActiveModels,
    registry: Registry,
    client: redis.Redis,
) -> None:
    old = activated(registry, seed=1)
    models.refresh()
    new = activated(registry, seed=2)
    good = damage(registry, client, new.version)
    with capture_logs() as logs:
        for _ in range(3):
            models.refresh()
    assert serving(models) == {"fbgd": old.version}
    fault = models.current.faults["fbgd"]
    assert fault.version == new.version
    assert "is damaged: its sha256" in fault.detail
    assert [(log["event"], log["version"]) for log in logs] == [("model_not_loaded", new.version)]
    client.set(registry._chunk_keys(new.version)[0], good)
    models.refresh()
    assert serving(models) == {"fbgd": old.version}, "not tried again so soon"
    models._retry_at.clear()
    models.refresh()
    assert (serving(models), models.current.faults) == ({"fbgd": new.version}, {})


def test_a_fault_goes_when_another_version_serves(
    models: ActiveModels, registry: Registry, client: redis.Redis
) -> None:
    old = activated(registry, seed=1)
    damage(registry, client, activated(registry, seed=2).version)
    models.refresh()
    assert (serving(models), list(models.current.faults)) == ({}, ["fbgd"])
    registry.roll_back("fbgd", who="me", why="it is damaged")
    models.refresh()
    assert (serving(models), models.current.faults) == ({"fbgd": old.version}, {})


def test_an_unusable_data_directory_is_a_fault(registry: Registry, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    record = activated(registry)
    models = ActiveModels(registry, SnapshotFiles(blocked / "snapshots"))
    models.refresh()
    assert models.ready
    assert "HEDGEROW_DATA_DIR" in models.current.faults["fbgd"].detail
    assert models.current.faults["fbgd"].version == record.version


def test_a_model_that_no_user_can_be_folded_into_is_a_fault(
    models: ActiveModels, registry: Registry
) -> None:
    arrays = {"item_factors": np.ones((2, 2), np.float32)}
    activated(registry, made=Snapshot("fbgd", arrays, {"row": {}}))
    models.refresh()
    assert "not of a model with fold-in" in models.current.faults["fbgd"].detail


def test_a_snapshot_that_is_not_of_its_family_is_a_fault(
    models: ActiveModels, registry: Registry
) -> None:
    activated(registry, seed=1, strategy="exmlds")
    activated(registry, seed=2, strategy="of a later version")
    models.refresh()
    assert serving(models) == {}
    assert "not the snapshot of a label model of items" in models.current.faults["exmlds"].detail
    assert "known: fbgd, ocmf" in models.current.faults["of a later version"].detail


def test_a_version_that_is_removed_goes_on_serving(
    models: ActiveModels, registry: Registry, client: redis.Redis, tmp_path: Path
) -> None:
    record = activated(registry)
    models.refresh()
    client.delete(registry._keys.model(record.version), *registry._chunk_keys(record.version))
    (tmp_path / "snapshots" / record.version).unlink()
    models.refresh()
    assert serving(models) == {"fbgd": record.version}
    assert models.current.models["fbgd"].snapshot.version == record.version


def test_files_of_models_that_no_longer_serve_are_removed(
    models: ActiveModels, registry: Registry, tmp_path: Path
) -> None:
    activated(registry, seed=1)
    models.refresh()
    new = activated(registry, seed=2)
    models.refresh()
    models._tidy_at = 0.0
    models.refresh()
    names = {path.name for path in (tmp_path / "snapshots").iterdir()} - {".lock"}
    assert names == {new.version}


def test_a_started_follower_keeps_up_and_outlives_the_store(
    private_server: PrivateServer, namespace: str, tmp_path: Path
) -> None:
    with connect(private_server.url, role="test") as client:
        registry = Registry(client, namespace)
        models = ActiveModels(registry, SnapshotFiles(tmp_path / "snapshots"))
        models.start()
        wait_until(lambda: models.ready)
        first = activated(registry, seed=1)
        wait_until(lambda: serving(models) == {"fbgd": first.version})
        private_server.kill()
        with pytest.raises(StoreUnavailable):
            models.refresh()
        assert serving(models) == {"fbgd": first.version}
        private_server.start()
        second = activated(registry, seed=2)
        wait_until(lambda: serving(models) == {"fbgd": second.version})
        models.close()
        assert not models._thread.is_alive()
