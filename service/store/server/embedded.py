"""The private server that ``hedgerow serve`` runs when no HEDGEROW_REDIS_URL is given.

It is a real Redis or Valkey on a unix socket. Its files are in the data directory, which is locked
against a second ``serve``. A server that a killed supervisor left behind is stopped before a new
one starts.
"""

import contextlib
import fcntl
import json
import os
import shutil
import socket as sockets
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal, Self

import redis
import redis.exceptions as redis_errors
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.ending import command_line, end_process, end_stranger, end_with_parent
from service.errors import Misconfigured, StoreUnavailable
from service.store.server.append_only import check_files
from service.store.server.program import find_server
from service.telemetry import logger

SOCKET_PATH_LIMIT = 100
"""Most bytes of the path: the system's limit is 104 to 108, and a longer path fails unexplained."""
RECORD = "server.json"
"""File in the data directory with the process id and the socket of its server."""
FILES = "redis"
"""Folder in the data directory with the server's files."""
FIRST_ANSWER_S = 20.0
"""Seconds until a server must answer at all; loading a long log may take longer after that."""
STOP_S = 20.0
LAST_LINES = 100
"""Lines at the end of a log that are searched for a reason; each start writes about a dozen."""
NO_SPACE = ("No space left on device", "Short write while writing to the AOF")
"""Messages in the server's log when the disk is full."""

Durability = Literal["fsync", "os"]


class EmbeddedServer:
    """Starts and stops the server; a new ``start`` after a crash keeps the path of the socket."""

    def __init__(self, data_dir: Path, durability: Durability = "fsync") -> None:
        self._data_dir = data_dir.absolute()
        self._durability = durability
        self._lock: IO[str] | None = None
        self._socket_dir: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """URL of the server's socket, for ``connect``."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._running.pid

    @property
    def alive(self) -> bool:
        """Whether the server started by ``start`` still runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> str:
        """Start the server, wait until it answers PING, and return its url.

        Raises Misconfigured if there is no program, if the directory is unusable or locked, or if
        the server does not start.
        """
        if self.alive:
            return self.url
        program = find_server()
        if self._lock is None:
            self._take_lock()
        try:
            check_files(self._files)
            if self._socket_dir is None:
                stop_leftover(self._record)
                self._socket_dir = private_directory(self._data_dir)
            self._process = self._spawn(program)
            self._await_answer()
        except BaseException:
            self.stop()
            raise
        return self.url

    def stop(self) -> None:
        """Stop the server and unlock the directory.

        SIGTERM lets the server sync its files; SIGKILL follows after 20 s.
        """
        if self._process is not None:
            end_process(self._process)
            self._process = None
            self._record.unlink(missing_ok=True)
        if self._socket_dir is not None:
            shutil.rmtree(self._socket_dir, ignore_errors=True)
            self._socket_dir = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def _socket(self) -> Path:
        if self._socket_dir is None:
            raise StoreUnavailable("the private server is not running; start it first")
        return self._socket_dir / "s"

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise StoreUnavailable("the private server is not running; start it first")
        return self._process

    @property
    def _files(self) -> Path:
        return self._data_dir / FILES

    @property
    def _record(self) -> Path:
        return self._data_dir / RECORD

    @property
    def _log(self) -> Path:
        return self._data_dir / "server.log"

    def _take_lock(self) -> None:
        try:
            self._files.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self._data_dir / "lock").open("a+")
        except OSError as error:
            raise Misconfigured(
                f"the data directory {self._data_dir} cannot be written ({error.strerror}); "
                "choose another with --data-dir or HEDGEROW_DATA_DIR"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            lock.close()
            raise Misconfigured(
                f"another `hedgerow serve` (process {owner}) uses the data directory "
                f"{self._data_dir}; stop it, or choose another directory with --data-dir"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def _spawn(self, program: Path) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            # the program was found by find_server, the options are ours
            process = subprocess.Popen(  # noqa: S603
                [program, *self._options()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal goes to the whole group; the server must be the last to stop
                start_new_session=True,
                # safe between fork and exec: one call into libc, without locks
                preexec_fn=end_with_parent(),  # noqa: PLW1509
            )
        write_record(self._record, process.pid, self._socket)
        return process

    def _options(self) -> Iterator[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._files),
            "appendonly": "yes",
            "appendfsync": "always" if self._durability == "fsync" else "no",
            # rewrite the log when it has doubled; RDB snapshots would only repeat its contents
            "auto-aof-rewrite-percentage": "100",
            "auto-aof-rewrite-min-size": "64mb",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        for name, value in options.items():
            yield from (f"--{name}", value)

    def _await_answer(self) -> None:
        answered = wait_for_answer(self._socket, ended=lambda: not self.alive)
        if answered:
            return
        raise Misconfigured(f"the private server did not start; {self.last_words()}")

    def last_words(self) -> str:
        """Return the end of the server's log, preceded by an explanation if we have one."""
        lines = self._log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        full = any(words in line for line in lines for words in NO_SPACE)
        means = (
            f"no space is left on the disk of {self._data_dir}: make room there and start again, "
            "what was acknowledged is stored; "
            if full
            else ""
        )
        return f"{means}the end of {self._log} says:\n" + "\n".join(lines[-5:])


def private_directory(*fallbacks: Path) -> Path:
    """Create a directory for this user only, with a path short enough for a socket."""
    for parent in (*_temporary_directories(), *fallbacks):
        # mkdtemp adds 9 + 8 bytes and a slash, the socket's name 2
        if len(os.fsencode(parent)) + 20 > SOCKET_PATH_LIMIT:
            continue
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="hedgerow-", dir=parent))
    raise Misconfigured(
        "no writable directory with a path short enough for a unix socket was found; "
        f"set XDG_RUNTIME_DIR or TMPDIR to one of at most {SOCKET_PATH_LIMIT - 20} characters"
    )


def _temporary_directories() -> Iterator[Path]:
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime)
    with contextlib.suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir())
    yield Path("/tmp")  # noqa: S108 - mkdtemp makes the name and the permissions safe


def wait_for_answer(socket: Path, *, ended: Callable[[], bool]) -> bool:
    """Wait for PONG; return False if the server ended or stays silent for 20 s.

    There is no limit while the server answers LOADING, which means that it reads its log.
    """
    pause = threading.Event()
    silent_s, is_logged = 0.0, False
    with redis.Redis(
        unix_socket_path=str(socket), socket_timeout=1, retry=Retry(NoBackoff(), 0)
    ) as client:
        while silent_s < FIRST_ANSWER_S and not ended():
            try:
                return bool(client.ping())
            except redis_errors.BusyLoadingError:
                if not is_logged:
                    logger().info("store_loading")
                silent_s, is_logged = 0.0, True
            except (redis_errors.ConnectionError, redis_errors.TimeoutError):
                silent_s += 0.01
            pause.wait(0.01)
    return False


def running_server(data_dir: Path) -> str | None:
    """Return the url of the server that another process runs on this directory, if any."""
    pid, socket = _read_record(data_dir.absolute() / RECORD)
    # another unit or container does not see the process, but may share the socket
    runs = bool(socket) and (socket in command_line(pid) or _accepts(socket))
    return f"unix://{socket}" if runs else None


def _accepts(path: str) -> bool:
    """Return whether a process listens at this socket."""
    with sockets.socket(sockets.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.settimeout(1.0)
        probe.connect(path)
        return True
    return False


def stop_leftover(record: Path) -> None:
    """Stop the server named by the record, if it still runs and is ours."""
    pid, socket = _read_record(record)
    if socket:
        end_stranger(pid, socket, STOP_S)
        shutil.rmtree(Path(socket).parent, ignore_errors=True)
    record.unlink(missing_ok=True)


def write_record(record: Path, pid: int, socket: Path) -> None:
    """Write which server runs; others who read meanwhile find the record before, never a part."""
    new = record.with_suffix(".new")
    new.write_text(json.dumps({"pid": pid, "socket": str(socket)}))
    new.replace(record)


def _read_record(record: Path) -> tuple[int, str]:
    """Return process id and socket, (0, "") if there is no readable record."""
    try:
        known = json.loads(record.read_text())
        return int(known["pid"]), str(known["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
