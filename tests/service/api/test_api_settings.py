"""The settings in effect, as an operator sees them."""

from pathlib import Path

from service.limits import Limits
from service.settings import Settings
from service.settings_in_effect import in_effect
from tests.api import Api


def test_each_setting_has_its_value_default_and_meaning(
    redis_url: str, namespace: str, tmp_path: Path
) -> None:
    settings = Settings(
        namespace=namespace, data_dir=tmp_path, keep_models=7, limits=Limits(watchers=9)
    )
    with Api(settings, redis_url) as api:
        listed = {one["name"]: one for one in api("GET", "/v1/settings").json()["settings"]}
    assert listed["keep_models"] == {
        "name": "keep_models",
        "value": "7",
        "default": "5",
        "is_changed": True,
        "about": listed["keep_models"]["about"],
    }
    assert "versions to keep for each strategy" in listed["keep_models"]["about"]
    assert (listed["limits.watchers"]["value"], listed["limits.watchers"]["default"]) == (
        "9",
        "256",
    )
    changed = {name for name, one in listed.items() if one["is_changed"]}
    assert changed >= {"namespace", "keep_models", "limits.watchers"}
    assert not listed["trainer"]["is_changed"]
    assert {name.partition(".")[0] for name in listed} == {*Settings.model_fields}
    assert "limits" not in listed


def test_no_password_is_shown() -> None:
    settings = Settings(
        redis_url="rediss://me:secret1@host/0?ssl_password=secret2",
        jobs_redis_url="redis://:secret3@host/1",
        redis_password="secret4",  # noqa: S106
        traces_url="https://me:secret5@collector/v1/traces?api-key=secret6",
    )
    assert "secret" not in str([*in_effect(settings)])
