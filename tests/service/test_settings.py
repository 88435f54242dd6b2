import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.errors import Misconfigured
from service.limits import Limits
from service.settings import KINDS, Settings
from service.settings_loading import environment, load_settings, without_hedgerow


@pytest.fixture(autouse=True)
def an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    an_empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (an_empty_directory / "hedgerow.toml").write_text('port = 1\nhost = "file"\nseed = 3\n')
    monkeypatch.setenv("HEDGEROW_PORT", "2")
    monkeypatch.setenv("HEDGEROW_HOST", "environment")
    settings = load_settings(port=5, host=None)
    assert (settings.port, settings.host, settings.seed) == (5, "environment", 3)


def test_another_settings_file_can_be_named(
    an_empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (an_empty_directory / "other.toml").write_text("port = 77")
    monkeypatch.setenv("HEDGEROW_CONFIG", "other.toml")
    assert load_settings().port == 77


def test_a_named_settings_file_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_CONFIG", "gone.toml")
    with pytest.raises(Misconfigured, match=r"HEDGEROW_CONFIG names gone\.toml"):
        load_settings()


def test_no_name_is_guessed_for_one_that_is_like_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_FOO", "1")
    with pytest.raises(Misconfigured, match=r"^HEDGEROW_FOO is not a setting \(docs"):
        load_settings()


def test_every_unknown_name_is_listed_with_the_nearest_known_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDGEROW_PORTT", "1")
    monkeypatch.setenv("HEDGEROW_KIND__VIEW", "1")
    monkeypatch.setenv("HEDGEROW_PORT__X", "1")
    with pytest.raises(Misconfigured) as refused:
        load_settings()
    for expected in (
        "HEDGEROW_PORTT",
        "mean HEDGEROW_PORT?",
        "HEDGEROW_KIND__",
        "HEDGEROW_PORT__X",
    ):
        assert expected in refused.value.detail


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("potr = 1", "potr is not a setting; did you mean port?"),
        ("port = 70000", "HEDGEROW_PORT must be at most 65535 (it is 70000)"),
        ('retrain_cron = "banana"', "HEDGEROW_RETRAIN_CRON: 'banana' is not a cron expression"),
        ("[kinds.wish]\ncode = 7", "HEDGEROW_KINDS__WISH__WEIGHT is missing"),
        ("[kinds.view]\nsign = 4", "HEDGEROW_KINDS__VIEW__SIGN must be -1, 0 or 1"),
        ("port = ", "not valid TOML"),
        ("[kinds.view]\nwieght = 1.0", "kinds.view.wieght is not a setting; did you mean weight?"),
        ("[kinds.wish]\ncode = 1\nweight = 1.0\nsign = 1\nhides = false", "same code 1"),
        ("[kinds.rating]\ncode = 9\nweight = 1.0\nsign = 1\nhides = false", "cannot be a kind"),
        ('scale = "5:1"', "must be below the highest"),
        ("kinds = 3", "HEDGEROW_KINDS"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(an_empty_directory: Path, text: str, said: str) -> None:
    (an_empty_directory / "hedgerow.toml").write_text(text)
    with pytest.raises(Misconfigured) as refused:
        load_settings()
    assert said in refused.value.detail


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", "must be a whole number (it is 'abc')"),
        ("PORT", "80.5", "must be a whole number (it is '80.5')"),
        ("SCALE", "5", "must be LOW:HIGH, such as 1:5 (it is '5')"),
        ("REDIS_URL", "localhost", "must begin with redis://, rediss:// or unix://"),
        ("NAMESPACE", "My Shop", "must be 1 to 32 of the characters a-z, 0-9 and -"),
        ("EXPERTS", "many", "must be 'default' or 'paper'"),
        ("TRAINER", "maybe", "must be true or false"),
        ("RETRAIN_ON_DRIFT", "1", "must be above 1.0"),
    ],
)
def test_a_wrong_value_is_answered_in_one_sentence_of_ours(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"HEDGEROW_{name}", value)
    with pytest.raises(Misconfigured) as refused:
        load_settings()
    assert refused.value.detail.startswith(f"HEDGEROW_{name} {said}")
    assert "Value error" not in refused.value.detail


def test_a_password_in_a_wrong_url_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_REDIS_URL", "http://:geheim@host")
    with pytest.raises(Misconfigured) as refused:
        load_settings()
    assert "geheim" not in refused.value.detail


def test_half_written_json_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_KINDS", "{")
    with pytest.raises(Misconfigured, match="JSON"):
        load_settings()


def test_one_kind_can_be_changed_and_another_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_KINDS__VIEW__WEIGHT", "0.3")
    monkeypatch.setenv(
        "HEDGEROW_KINDS__WISH", '{"code": 20, "weight": 1, "sign": 1, "hides": false}'
    )
    kinds = load_settings().kinds
    assert kinds["view"].weight == 0.3
    assert kinds["view"].code == KINDS["view"].code
    assert set(kinds) == {*KINDS, "wish"}


def test_an_empty_variable_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_REDIS_URL", "")
    assert load_settings().redis_url is None


def test_a_child_process_gets_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(
        port=1, scale="-10:10", redis_url="unix:///run/s", data_dir=Path("/x y")
    )
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


def test_the_rest_of_an_environment_is_kept() -> None:
    assert without_hedgerow({"HEDGEROW_PORT": "1", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_TRUSTED_PROXIES", "10.0.0.0/8, ::1,")
    settings = load_settings()
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings
    monkeypatch.setenv("HEDGEROW_TRUSTED_PROXIES", "my-proxy")
    with pytest.raises(Misconfigured, match=r"HEDGEROW_TRUSTED_PROXIES.*give 10"):
        load_settings()


def test_a_limit_can_be_changed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_LIMITS__CONNECTIONS", "64")
    assert load_settings().limits.model_dump() == Limits(connections=64).model_dump()
    monkeypatch.setenv("HEDGEROW_LIMITS__CONECTIONS", "64")
    with pytest.raises(Misconfigured, match="did you mean connections"):
        load_settings()


def test_secrets_may_stand_in_files(
    an_empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = an_empty_directory / "secret"
    file.write_text("redis://:pass@host:6379/0\n")
    (an_empty_directory / "hedgerow.toml").write_text('redis_url = "redis://other:1/0"\n')
    monkeypatch.setenv("HEDGEROW_REDIS_URL_FILE", str(file))
    settings = load_settings()
    assert settings.redis_url == "redis://:pass@host:6379/0"


@pytest.mark.parametrize(
    "url", ["redis://host:6379/0", "rediss://me@host/0", "unix:///run/s?db=1", "redis://:p!w@a/0"]
)
def test_a_secret_in_a_file_is_in_no_environment_of_a_child(
    an_empty_directory: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    secrets = {"REDIS_PASSWORD": "p!w", "JOBS_REDIS_URL": "redis://:geheim@jobs:6379/0"}
    for name, secret in secrets.items():
        file = an_empty_directory / name
        file.write_text(secret)
        monkeypatch.setenv(f"HEDGEROW_{name}_FILE", str(file))
    monkeypatch.setenv("HEDGEROW_REDIS_URL", url)
    settings = load_settings()
    assert "p%21w" in str(settings.redis_url)
    passed_on = environment(settings)
    for secret in ("p!w", "p%21w", "geheim"):
        assert secret not in str(passed_on)
    for name, value in passed_on.items():
        monkeypatch.setenv(name, value)
    assert load_settings() == settings


def test_a_child_gets_a_secret_that_can_be_read_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"redis://:pass@host:6379/0")
    os.close(theirs)
    monkeypatch.setenv("HEDGEROW_REDIS_URL_FILE", f"/dev/fd/{ours}")
    passed_on = environment(load_settings())
    os.close(ours)
    assert passed_on["HEDGEROW_REDIS_URL"] == "redis://:pass@host:6379/0"
    assert "HEDGEROW_REDIS_URL_FILE" not in passed_on


@pytest.mark.parametrize(
    ("content", "also", "says"),
    [
        (None, {}, "cannot be read"),
        ("", {}, "is empty"),
        ("redis://a:1/0", {"HEDGEROW_REDIS_URL": "redis://b:1/0"}, "both set"),
        ("http://a", {}, "redis_url"),
    ],
)
def test_a_secret_in_a_file_that_is_of_no_use_is_refused_with_words(
    an_empty_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str | None,
    also: dict[str, str],
    says: str,
) -> None:
    file = an_empty_directory / "secret"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("HEDGEROW_REDIS_URL_FILE", str(file))
    for name, value in also.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Misconfigured, match=f"(?i){says}"):
        load_settings()
