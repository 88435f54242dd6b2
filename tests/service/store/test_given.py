"""Given servers: TLS, passwords and permissions; what is refused at the start, with words."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from service.ending import end_process
from service.errors import Misconfigured, ServiceError, StoreUnavailable
from service.processes.commands import COMMAND
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.connection import connect, without_password
from service.store.namespace import open_namespace
from service.store.sentinel import Watched
from service.store.server.given import check_given, is_far
from tests.given_server import Certificates, GivenServer, Sentinel, needs_tls, says_loading
from tests.server import wait_until
from tests.service.running import hedgerow
from tests.stories import run

FAR = "0.0.0.0"  # noqa: S104 - an address that is not of loopback, but leads there


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    needs_tls()
    return Certificates(tmp_path / "certificates")


@pytest.fixture
def tls_server(tmp_path: Path, certificates: Certificates) -> Iterator[GivenServer]:
    """A server that speaks TLS, wants a certificate of its clients, and has a password."""
    given = {"tls_auth_clients": "yes", "requirepass": "p/w"}
    with GivenServer(tmp_path / "server", tls=certificates, **given) as server:
        yield server


@pytest.fixture
def right(
    certificates: Certificates, tls_server: GivenServer, tmp_path: Path, monkeypatch: Any
) -> dict[str, Any]:
    """The settings with which it lets Hedgerow in; the password stands in a file."""
    secret = tmp_path / "password"
    secret.write_text("p/w\n")
    monkeypatch.setenv("HEDGEROW_REDIS_PASSWORD_FILE", str(secret))
    certificate, key = certificates.signed("client")
    return {
        "redis_url": tls_server.url(host="localhost"),
        "redis_ca_file": certificates.ca,
        "redis_cert_file": certificate,
        "redis_key_file": key,
    }


def test_a_server_by_tls_with_certificates_and_a_password_is_used(right: dict[str, Any]) -> None:
    settings = load_settings(**right)
    check_given(settings)
    with connect(str(settings.redis_url), role="test") as client:
        assert open_namespace(client, settings).partitions == 1
    assert run(str(settings.redis_url), lambda client: client.ping())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"redis_ca_file": None}, "HEDGEROW_REDIS_CA_FILE"),
        ({"redis_cert_file": None, "redis_key_file": None}, "set HEDGEROW_REDIS_CERT_FILE"),
        ({"redis_url": ("localhost", "127.0.0.1")}, "use a name that it has"),
        ({"redis_url": ("rediss", "redis")}, "the URL begins with rediss://"),
    ],
)
def test_a_wrong_connection_by_tls_says_what_to_do(
    right: dict[str, Any], wrong: dict[str, Any], says: str
) -> None:
    changed = dict(wrong)
    if "redis_url" in changed:
        changed["redis_url"] = right["redis_url"].replace(*changed["redis_url"])
    if str(changed.get("redis_url", "")).startswith("redis://"):
        changed |= dict.fromkeys(("redis_ca_file", "redis_cert_file", "redis_key_file"))
    with pytest.raises(StoreUnavailable) as refused:
        check_given(load_settings(**right | changed))
    assert says in refused.value.detail
    assert refused.value.detail.startswith("HEDGEROW_REDIS_URL=redis")
    assert "p/w" not in refused.value.detail
    assert "p%2Fw" not in refused.value.detail


def test_a_certificate_of_another_authority_is_not_trusted(
    right: dict[str, Any], tmp_path: Path
) -> None:
    other = Certificates(tmp_path / "other")
    with pytest.raises(StoreUnavailable, match="authority that signed its certificate"):
        check_given(load_settings(**right | {"redis_ca_file": other.ca}))


def test_serve_and_doctor_say_alike_why_a_server_does_not_let_them_in(
    right: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("wrong\n")
    given = {f"HEDGEROW_{name.upper()}": str(value) for name, value in right.items()}
    at = str(tmp_path / "data")
    for verb in ("serve", "doctor"):
        said = hedgerow(verb, "--data-dir", at, HEDGEROW_PORT="0", **given)
        assert said.returncode == (2 if verb == "serve" else 1)
        [line] = [line for line in said.stderr.splitlines() if "HEDGEROW_REDIS_URL=" in line]
        assert "username-password pair" in line
        assert "check the user in HEDGEROW_REDIS_URL, and the password there or in" in line
        assert "wrong@" not in line
        assert "p/w" not in said.stdout


def test_a_user_without_a_permission_is_told_which_one(tmp_path: Path) -> None:
    with GivenServer(tmp_path / "server") as server, server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all", "-hsetnx")
        settings = load_settings(redis_url=server.url("few:secret"))
        check_given(settings)
        with (
            connect(str(settings.redis_url), role="test") as client,
            pytest.raises(StoreUnavailable, match=r"'hsetnx'.*run-for-real\.md"),
        ):
            open_namespace(client, settings)


def test_a_server_that_lets_in_anybody_is_refused_off_loopback(tmp_path: Path) -> None:
    with GivenServer(tmp_path / "server") as server, server.admin() as admin:
        check_given(Settings(redis_url=server.url()))
        check_given(Settings(redis_url=server.socket_url))
        far = server.url(host=FAR)
        with pytest.raises(Misconfigured, match="HEDGEROW_REDIS_WITHOUT_PASSWORD=true"):
            check_given(Settings(redis_url=far))
        with pytest.raises(Misconfigured, match=r"HEDGEROW_JOBS_REDIS_URL=.*lets in whoever"):
            check_given(Settings(redis_url=server.url(), jobs_redis_url=far))
        check_given(Settings(redis_url=far, redis_without_password=True))
        # a password of ours closes nothing while strangers need none
        admin.execute_command("ACL", "SETUSER", "me", "on", ">secret", "~*", "+@all")
        with pytest.raises(Misconfigured, match="lets in whoever"):
            check_given(Settings(redis_url=server.url("me:secret", FAR)))
        admin.execute_command("ACL", "SETUSER", "default", "off")
        check_given(Settings(redis_url=server.url("me:secret", FAR)))


def test_a_replica_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        GivenServer(tmp_path / "primary") as primary,
        GivenServer(tmp_path / "replica", replicaof=f"127.0.0.1 {primary.port}") as replica,
        pytest.raises(Misconfigured, match=f"a replica of 127.0.0.1:{primary.port}"),
    ):
        check_given(Settings(redis_url=replica.url()))


@pytest.mark.parametrize("role", ["api", "learner", "trainer"])
def test_who_waits_for_a_server_that_loads_its_files_ends_when_told_to(
    tmp_path: Path, role: str
) -> None:
    log = tmp_path / "log"
    with GivenServer(tmp_path / "server") as server, server.admin() as admin:
        server.restart_slowly()
        environment = os.environ | {"HEDGEROW_REDIS_URL": server.url()}
        with log.open("wb") as stderr:
            process = subprocess.Popen([*COMMAND, role], stderr=stderr, env=environment)
        try:
            wait_until(lambda: "store_loading" in log.read_text())
            process.send_signal(signal.SIGTERM)
            # as by Ctrl-C: a process that handles no SIGTERM ignores it in a container
            assert process.wait(timeout=180) == 130
        finally:
            end_process(process)
        assert says_loading(admin), "the server was ready too early for this test"


def test_doctor_finds_a_server_that_loads_its_files(tmp_path: Path) -> None:
    with GivenServer(tmp_path / "server") as server, server.admin() as admin:
        server.restart_slowly()
        said = hedgerow("doctor", HEDGEROW_REDIS_URL=server.url())
        assert says_loading(admin), "the server was ready too early for this test"
    assert said.returncode == 1
    assert "still loading its files" in said.stderr


@pytest.mark.parametrize(
    "url",
    [
        "redis://me:secret@127.0.0.1:1/0",
        "redis://127.0.0.1:1/0?username=me&password=secret",
        "redis://127.0.0.1:1/0?p%61ssword=secret",
        "rediss://127.0.0.1:1/0?ssl_password=secret",
        "unix:///nowhere/socket?db=0&password=secret",
    ],
)
def test_a_given_server_that_is_not_there_is_named_without_its_password(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="HEDGEROW_REDIS_URL") as refused:
        check_given(Settings(redis_url=url))
    assert "secret" not in refused.value.detail
    assert "***" in refused.value.detail


@pytest.mark.parametrize(
    "url",
    ["redis://127.0.0.1:1/0", "unix:///run/s?db=0", "rediss://a/0?ssl_ca_certs=/a%20b&db=1"],
)
def test_a_url_without_a_password_is_named_as_it_is(url: str) -> None:
    assert without_password(url) == url


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"redis_password": "x"}, "HEDGEROW_REDIS_PASSWORD is set without HEDGEROW_REDIS_URL"),
        ({"redis_url": "redis://:a@b/0", "redis_password": "x"}, "has another one"),
        ({"redis_url": "redis://b/0", "redis_ca_file": Path("ca")}, "begin with rediss://"),
        ({"redis_url": "rediss://b/0", "redis_ca_file": Path("ca")}, "ca, which cannot be read"),
        ({"redis_url": "rediss://b/0", "redis_ca_file": Path(__file__)}, "a certificate in PEM"),
        ({"redis_url": "rediss://b/0", "redis_cert_file": Path(__file__)}, "and its key in PEM"),
        ({"redis_url": "rediss://b/0", "redis_key_file": Path(__file__)}, "set both"),
    ],
)
def test_settings_of_a_connection_that_do_not_fit_are_refused(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ServiceError) as refused:
        load_settings(**given)
    assert says in refused.value.detail


def test_the_file_that_cannot_be_read_is_named(certificates: Certificates, tmp_path: Path) -> None:
    certificate, key = certificates.signed("client")
    given = {"redis_cert_file": certificate, "redis_key_file": key}
    for name in given:
        with pytest.raises(Misconfigured) as refused:
            load_settings(redis_url="rediss://b/0", **given | {name: tmp_path / "gone"})
        assert f"HEDGEROW_{name.upper()} names {tmp_path / 'gone'}" in refused.value.detail


@pytest.mark.parametrize("written", ["p!w", "p%21w", "p%21%77"])
def test_the_same_password_twice_is_no_contradiction(written: str) -> None:
    given = {"redis_url": f"redis://me:{written}@b/0", "redis_password": "p!w"}
    settings = load_settings(**given)
    assert settings.redis_url == "redis://me:p%21w@b/0"


def test_servers_and_sentinels_that_speak_tls_are_used(
    tmp_path: Path, certificates: Certificates
) -> None:
    with (
        GivenServer(tmp_path / "server", tls=certificates) as server,
        Sentinel(tmp_path / "sentinel", server, tls=certificates) as sentinel,
    ):
        settings = load_settings(redis_url=sentinel.url(), redis_ca_file=certificates.ca)
        check_given(settings)


def test_sentinels_that_have_gone_are_said_to_be_away() -> None:
    with pytest.raises(StoreUnavailable, match="no sentinel says"):
        is_far("redis+sentinel://127.0.0.1:1/shop")


def test_the_sentinel_that_heard_of_the_last_failover_is_believed(tmp_path: Path) -> None:
    with (
        GivenServer(tmp_path / "before") as before,
        GivenServer(tmp_path / "now") as now,
        Sentinel(tmp_path / "cut-off", before, epoch=3) as cut_off,
        Sentinel(tmp_path / "sentinel", now, epoch=4) as sentinel,
    ):
        hosts = f"127.0.0.1:{cut_off.port},127.0.0.1:{sentinel.port}"
        watched, _ = Watched.by(f"redis+sentinel://{hosts}/{Sentinel.GROUP}")
        assert watched.primary() == ("127.0.0.1", now.port)
        assert asyncio.run(watched.primary_async()) == ("127.0.0.1", now.port)
        now.stop()
        wait_until(lambda: says_down(watched))


def says_down(watched: Watched) -> bool:
    """Whether no primary is named, because the one that counts is down."""
    try:
        watched.primary()
    except redis.exceptions.ConnectionError as error:
        return "is down" in str(error)
    return False
