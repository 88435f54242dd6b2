"""A server that a test gives to the service: on a port, with passwords, TLS or a primary."""

import shutil
import socket
import subprocess
from functools import cache
from pathlib import Path
from typing import Self

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.ending import end_process, end_with_parent
from service.store.server.program import find_server
from tests.server import wait_until

SLOWLY = {"key_load_delay": "100000", "loading_process_events_interval_bytes": "1024"}
"""Options with which a server takes 100 ms for each key of its file."""
PADDING = {f"padding:{n}": "x" * 500 for n in range(2_000)}
"""Long enough for a break, in which the server answers, after each few of them."""
SERVER, CHECKER = "redis-server", "redis-check-rdb"
"""What a server program is called; the name under which Debian's redis-tools has it, too."""


HOST_NAMES = ("sentinel resolve-hostnames", "sentinel announce-hostnames")
"""Options with which a sentinel takes and gives names of hosts."""


class GivenServer:
    """A server on a port; ``options`` are lines of its configuration."""

    def __init__(self, directory: Path, *, tls: "Certificates | None" = None, **options: str):
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._tls, self._password = tls, options.get("requirepass")
        self._program = (tls_program() if tls else None) or find_server()
        ports = {"port": "0", "tls-port": str(self.port)} if tls else {"port": str(self.port)}
        usual = {
            "dir": str(directory),
            "unixsocket": str(directory / "s"),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "yes",
            "appendfsync": "no",
        }
        self._options = usual | ports | (tls.options if tls else {}) | _named(options)
        self.socket_url = f"unix://{directory / 's'}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, **more: str) -> None:
        """Start it, and wait until it takes connections; it may still read its files."""
        options = self._options | _named(more)
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [SERVER, *words],
            executable=self._program,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # safe between fork and exec: one call into libc, without locks
            preexec_fn=end_with_parent(),  # noqa: PLW1509
        )
        wait_until(lambda: listens(self._process, self.port))

    def stop(self) -> None:
        if self._process is not None:
            end_process(self._process)
            self._process = None

    def kill(self) -> None:
        """SIGKILL, as the end of its machine would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def restart_slowly(self) -> None:
        """Start it again with a file that it reads for 200 s, or until ``key-load-delay`` is 0."""
        with self.admin() as admin:
            admin.config_set("rdbcompression", "no")
            admin.mset(PADDING)
            # only a snapshot in the file is read with breaks in which the server answers
            admin.bgrewriteaof()
            wait_until(lambda: not admin.info("persistence")["aof_rewrite_in_progress"])
            self.stop()
            self.start(**SLOWLY)
            wait_until(lambda: says_loading(admin))

    def admin(self) -> "redis.Redis[bytes]":
        """A client that may do everything, by its unix socket."""
        return redis.Redis(
            unix_socket_path=self.socket_url.removeprefix("unix://"),
            password=self._password,
            retry=Retry(NoBackoff(), 0),
        )

    def url(self, who: str = "", host: str = "127.0.0.1") -> str:
        """Its URL, with ``who`` as user:password."""
        scheme = "rediss" if self._tls else "redis"
        return f"{scheme}://{who}{'@' * bool(who)}{host}:{self.port}/0"


class Sentinel:
    """Watches a primary alone, and replaces it half a second after it has gone."""

    GROUP = "shop"

    def __init__(
        self,
        directory: Path,
        primary: GivenServer,
        *,
        replicas: int = 0,
        epoch: int = 0,
        tls: "Certificates | None" = None,
    ) -> None:
        directory.mkdir(parents=True)
        self.port = free_port()
        self._replicas, self._scheme = replicas, "rediss" if tls else "redis"
        self._program = (tls_program() if tls else None) or find_server()
        options, host = {"port": str(self.port)}, "127.0.0.1"
        if tls:
            options = {"port": "0", "tls-port": str(self.port), "tls-replication": "yes"}
            # certificates have this name, and no address
            options |= tls.options | dict.fromkeys(HOST_NAMES, "yes")
            host = "localhost"
        lines = [f"{name} {value}\n" for name, value in options.items()]
        self._file = directory / "sentinel.conf"
        self._file.write_text(
            f"{''.join(lines)}bind 127.0.0.1\ndir {directory}\n"
            f"sentinel monitor {self.GROUP} {host} {primary.port} 1\n"
            f"sentinel down-after-milliseconds {self.GROUP} 500\n"
            f"sentinel failover-timeout {self.GROUP} 2000\n"
            f"sentinel config-epoch {self.GROUP} {epoch}\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [SERVER, str(self._file), "--sentinel"],
            executable=self._program,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # safe between fork and exec: one call into libc, without locks
            preexec_fn=end_with_parent(),  # noqa: PLW1509
        )
        wait_until(lambda: listens(self._process, self.port))
        wait_until(lambda: not self._replicas or self.n_replicas() == self._replicas)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            end_process(self._process)

    def n_replicas(self) -> int:
        """How many replicas it has found so far."""
        try:
            with redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0)) as client:
                return len(client.execute_command("SENTINEL", "REPLICAS", self.GROUP))
        except redis.exceptions.ConnectionError:
            return 0

    def url(self) -> str:
        """The URL of whichever server is the primary; the first sentinel is not there."""
        sentinels = f"localhost:{free_port()},localhost:{self.port}"
        return f"{self._scheme}+sentinel://{sentinels}/{self.GROUP}/0"


class Certificates:
    """An authority, and certificates that it signs, in files of a folder."""

    def __init__(self, directory: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("this needs the program openssl")
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._make("ca", "keyUsage=critical,keyCertSign,cRLSign")
        self.ca = directory / "ca.pem"

    def signed(self, name: str, hosts: str = "DNS:localhost") -> tuple[Path, Path]:
        """Return the files of a certificate for hosts, and of its key."""
        authority = ["-CA", str(self.ca), "-CAkey", str(self._directory / "ca.key")]
        self._make(
            name, f"subjectAltName={hosts}", "basicConstraints=critical,CA:FALSE", more=authority
        )
        return self._directory / f"{name}.pem", self._directory / f"{name}.key"

    @property
    def options(self) -> dict[str, str]:
        """The options of a server with a certificate for localhost."""
        certificate, key = self.signed("server")
        return {
            "tls-cert-file": str(certificate),
            "tls-key-file": str(key),
            "tls-ca-cert-file": str(self.ca),
            "tls-auth-clients": "no",
        }

    def _make(self, name: str, *extensions: str, more: list[str] | None = None) -> None:
        added = [word for extension in extensions for word in ("-addext", extension)]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        out = ["-keyout", f"{self._directory / name}.key", "-out", f"{self._directory / name}.pem"]
        about = ["-days", "2", "-subj", f"/CN=hedgerow test {name}"]
        command = ["openssl", "req", "-x509", *key, *out, *about, *added, *(more or [])]
        subprocess.run(command, check=True, capture_output=True)


def _named(options: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in options.items()}


def listens(process: "subprocess.Popen[bytes] | None", port: int) -> bool:
    """Whether a server takes connections; it must not have ended."""
    assert process is not None
    assert process.poll() is None, "the server did not start"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def says_loading(admin: "redis.Redis[bytes]") -> bool:
    """Whether the server answers that it loads its files."""
    try:
        admin.ping()
    except redis.exceptions.BusyLoadingError:
        return True
    except redis.exceptions.ConnectionError:
        pass
    return False


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def tls_program() -> Path | None:
    """Return a server program here that can speak TLS; that in the wheel cannot."""
    checker = shutil.which(CHECKER)
    programs = [find_server(), *([Path(checker)] if checker else [])]
    return next(filter(_speaks_tls, programs), None)


def _speaks_tls(program: Path) -> bool:
    words = ["--port", "0", "--tls-port", str(free_port()), "--tls-cert-file", "/nowhere"]
    said = subprocess.run(
        [SERVER, *words],
        executable=program,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    ).stdout
    return "Failed to configure TLS" in said


def needs_tls() -> None:
    """Skip a test if no server program here can speak TLS."""
    if tls_program() is None:
        pytest.skip(f"{find_server()} was built without TLS, and there is no {CHECKER}")
