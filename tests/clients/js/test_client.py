"""The JavaScript client works with a running service; its own tests say what it promises."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from hedgerow_client import Client
from service.settings import Settings
from tests.api import learning, served
from tests.clients.js.node import CLIENT, HERE, ROOT, needs_node, room_of, run
from tests.openapi.tools import NODE_TOOLS, needs_node_tools

USE = """
import { Client, type Batch } from "hedgerow-client";
import { createTracker } from "hedgerow-client/track";

const client = new Client("http://localhost:8000", { retries: { patienceMs: 0 } });
export async function items(user: string): Promise<string[]> {
  const slate = await client.recommend(user, { k: 3 });
  for await (const item of client.iterateItems()) item.categories satisfies string[];
  const stream = client.stream({ onBatch: (batch: Batch) => batch.refused });
  await stream.send({ user, item: "a", kind: "view" });
  createTracker("/track").track({ item: "a", kind: "click", rec_id: slate.rec_id });
  // @ts-expect-error no such parameter
  await client.recommend(user, { kk: 3 });
  // @ts-expect-error an event has an item
  await client.send({ user });
  return slate.items.map((one) => one.item);
}
"""


@needs_node
def test_the_tests_of_the_client_pass(tmp_path: Path, namespace: str, redis_url: str) -> None:
    settings = Settings(
        namespace=namespace,
        data_dir=tmp_path / "data",
        wait_timeout_ms=60_000,
        min_sequence_wait_ms=60_000,
    )
    room, tests = room_of(tmp_path), 0
    # node finds packages beside the real place of a file: so these are copies
    for test in HERE.glob("*.test.js"):
        text = test.read_text().replace("../../../clients/js", "./node_modules/hedgerow-client")
        (room / test.name).write_text(text)
        tests += text.count('\ntest("')
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        with Client(f"http://{host}:{port}") as client:
            client.wait_until_ready()
        said = run("node", "--test", folder=room, HEDGEROW_URL=f"http://{host}:{port}")
    assert "# fail 0" in said
    assert f"# pass {tests}" in said


@pytest.mark.slow
@needs_node_tools
def test_the_package_holds_its_types_and_they_are_right(tmp_path: Path) -> None:
    source = tmp_path / "client"
    shutil.copytree(CLIENT, source)
    run(NODE_TOOLS / "tsc", "--project", "tsconfig.json", folder=source)
    packed = ("npm", "pack", "--ignore-scripts", "--offline", "--pack-destination", tmp_path)
    run(*packed, folder=source)
    (archive,) = tmp_path.glob("*.tgz")
    user = tmp_path / "user"
    package = user / "node_modules" / "hedgerow-client"
    package.mkdir(parents=True)
    run("tar", "-xzf", archive, "-C", package, "--strip-components=1", folder=user)
    names = {path.name for path in package.rglob("*")}
    assert {"index.d.ts", "types.d.ts", "track.d.ts", "track.js", "LICENSE", "README.md"} <= names
    (user / "package.json").write_text('{"type": "module"}')
    (user / "use.ts").write_text(USE)
    strict = ("--strict", "--noEmit", "--module", "nodenext", "--target", "es2022")
    run(NODE_TOOLS / "tsc", *strict, "--lib", "es2022,dom,esnext.disposable", "use.ts", folder=user)


def test_its_licence_and_version_are_those_of_the_service() -> None:
    assert (CLIENT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    ours = json.loads((CLIENT / "package.json").read_text())
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    same = ("version", "license")
    assert {name: ours[name] for name in same} == {name: whole[name] for name in same}
    assert "dependencies" not in ours
