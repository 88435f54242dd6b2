"""Servers that lose what they acknowledged, and a client that knows what must be in the store.

Every event names the user and the item of one number: whatever is stored under another item shows.
"""

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from service.settings import Settings
from service.settings_loading import environment
from service.store.connection import Client, connect
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.profiles.history_record import read_history
from tests.flows import dying_trainer
from tests.flows.roles import Role
from tests.server import PrivateServer, wait_until
from tests.service.running import hedgerow

JSON = {"content-type": "application/json"}


class ListeningServer(PrivateServer):
    """A server that listens on a port, too, as replicas need it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def _options(self) -> Iterator[str]:
        yield from super()._options()
        yield from ("--port", str(self.port), "--bind", "127.0.0.1")


class Store:
    """A durable server behind an address that can be moved to another one."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self.server: PrivateServer = ListeningServer(room / "a")
        self._address = room / "s"
        self.url = f"unix://{self._address}"

    def __enter__(self) -> Self:
        self.server.start()
        self._point_at(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    @property
    def files(self) -> Path:
        """The append-only file of the server."""
        return self.server._files

    def keep_a_copy(self) -> None:
        shutil.copytree(self.files, self._room / "copy")

    def go_back_to_the_copy(self) -> None:
        """Restart the server with the older copy of its files."""
        self.server.kill()
        shutil.rmtree(self.files)
        shutil.copytree(self._room / "copy", self.files)
        self.server.start()

    def lose_the_tail(self) -> None:
        """Restart the server without the last part of its file, cut in the middle of a command."""
        self.server.kill()
        tail = next(self.files.rglob("*.incr.aof"))
        with tail.open("r+b") as file:
            file.truncate(int(tail.stat().st_size * 0.8))
        self.server.start()

    def replace_by_an_empty_one(self) -> None:
        self.server.kill()
        shutil.rmtree(self.files)
        self.files.mkdir()
        self.server.start()

    def promote_a_replica(self, meanwhile: Callable[[], object]) -> None:
        """Go on with a replica that was cut off from what happens ``meanwhile``."""
        replica = ListeningServer(self._room / "b")
        replica.start()
        assert isinstance(self.server, ListeningServer)
        with connect(replica.url, role="test") as client:
            client.replicaof("127.0.0.1", str(self.server.port))
            wait_until(lambda: client.info("replication").get("master_link_status") == "up")
            client.execute_command("REPLICAOF", "NO", "ONE")
        meanwhile()
        self._point_at(replica)
        self.server.kill()
        self.server.stop()
        self.server = replica

    def _point_at(self, server: PrivateServer) -> None:
        self._address.unlink(missing_ok=True)
        self._address.symlink_to(server.url.removeprefix("unix://"))


@dataclass
class World:
    """A namespace with api, learner and trainer, and a client that posts without a pause."""

    settings: Settings
    port: int
    roles: dict[str, Role]
    posting: "Posting"

    def get(self, path: str) -> tuple[int, Any]:
        return request(self.port, "GET", path)

    def post(self, user: str, item: str) -> tuple[int, Any]:
        body = {"user": user, "item": item, "rating": 3}
        return request(self.port, "POST", "/v1/events", body)

    def hedgerow(self, *arguments: str) -> Any:
        """Run the command line with the settings of the roles."""
        return hedgerow(*arguments, **environment(self.settings))

    def refused(self) -> bool:
        """Whether the client was told that the store went back, and nothing else since."""
        return bool(self.posting.answers) and self.posting.answers[-1] == "store_rolled_back"

    def goes_on(self, more: int = 20) -> bool:
        """Wait until the client got ``more`` events acknowledged."""
        since = len(self.posting.acknowledged)
        wait_until(lambda: len(self.posting.acknowledged) >= since + more)
        return True


def request(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Return the status and the body of an answer; status 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
    try:
        packed = None if body is None else json.dumps(body)
        connection.request(method, path, packed, JSON)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    except (OSError, http.client.HTTPException):
        return 0, None
    finally:
        connection.close()


@dataclass
class Posting(threading.Thread):
    """Posts event after event: user u<n> rates item i<n>, and every tenth event the item i0."""

    port: int
    acknowledged: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    """202, or the code of each refusal."""

    def __post_init__(self) -> None:
        super().__init__()
        self.stop = threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        number = 0
        while not self.stop.wait(0.002):
            body = {"user": f"u{number}", "item": f"i{number}", "rating": 1 + number % 5}
            status, answer = request(self.port, "POST", "/v1/events", body)
            self.answers.append("202" if status == 202 else (answer or {}).get("code", "none"))
            if status == 202:
                self.acknowledged.append(number)
            number += 1

    def end(self) -> None:
        self.stop.set()
        self.join()


@contextmanager
def world(room: Path, url: str, namespace: str, **more: Any) -> Iterator[World]:
    """Run api, learner and trainer beside this store, and a client that posts to them."""
    settings = Settings(
        namespace=namespace, redis_url=url, data_dir=room / "d", trainer_nice=0, **more
    )
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        fd, port = listener.fileno(), listener.getsockname()[1]
        roles = {
            "api": Role(room, "api", settings, "api", "--listen-fd", str(fd), fds=(fd,)),
            "learner": Role(room, "learner", settings, "learner"),
            "trainer": Role(room, "trainer", settings, command=dying_trainer.COMMAND),
        }
        for role in roles.values():
            stack.enter_context(role)
        wait_until(lambda: request(port, "GET", "/readyz")[0] == 200)
        posting = Posting(port)
        stack.callback(posting.end)
        posting.start()
        yield World(settings, port, roles, posting)


def misplaced(client: Client, namespace: str) -> list[tuple[str, str]]:
    """Return the (user, item) of the histories that do not belong together."""
    return [(user, item) for user, item in stored(client, namespace) if user[1:] != item[1:]]


def stored(client: Client, namespace: str) -> list[tuple[str, str]]:
    """Return the (user, item) of all histories."""
    keys = PartitionKeys(namespace, 0)
    names: Any = client.lrange(NamespaceKeys(namespace).item_ids, 0, -1)
    users: Any = client.zrange(keys.users, 0, -1)
    return [
        (user.decode(), names[item].decode())
        for user in users
        for item in read_history(client.get(keys.history(user.decode())))["item"].tolist()
    ]


def all_learned(client: Client, namespace: str) -> bool:
    keys = PartitionKeys(namespace, 0)
    watermark, appended = client.hget(keys.state, "watermark"), client.get(keys.sequence)
    return int(watermark or 0) == int(appended or 0)
