"""The whole service with a server of the operator's: few rights, a failover, a long start."""

import re
from pathlib import Path

import pytest

from service.cli.clients.watching import watch
from tests.docs.pages import ROOT
from tests.given_server import Certificates, GivenServer, needs_tls
from tests.service.running import hedgerow, logged, service

pytestmark = pytest.mark.flow

EVENTS = [
    {"user": f"u{n}", "item": f"i{n * m % 30}", "rating": 1 + (n + m) % 5}
    for n in range(40)
    for m in range(1, 9)
]
PAGE = ROOT / "docs" / "how-to" / "run-for-real.md"


def documented_user() -> list[str]:
    """The command that the page gives for a user with few rights."""
    [line] = re.findall(r"^(ACL SETUSER .+)$", PAGE.read_text(), re.MULTILINE)
    return line.replace("PASSWORD", "geheim").split()


def test_the_documented_rights_are_enough_for_all_that_the_service_does(tmp_path: Path) -> None:
    needs_tls()
    certificates = Certificates(tmp_path / "certificates")
    with GivenServer(tmp_path / "store", tls=certificates, requirepass="root") as store:
        with store.admin() as admin:
            admin.execute_command(*documented_user())
        secret = tmp_path / "password"
        secret.write_text("geheim")
        url = store.url("recommender", "localhost")
        given = {"redis_url": url, "redis_password": "geheim", "redis_ca_file": certificates.ca}
        with service(tmp_path, **given) as running, running.client() as client:
            running.wait_until_ready(client)
            client.wait_until_learned(client.post("/v1/events", EVENTS)["sequence"])
            job = watch(client, client.post("/v1/retrain", {"model": "fbgd", "budget_s": 0}))
            assert job["status"] == "succeeded", job
            variables = {
                "HEDGEROW_REDIS_URL": url,
                "HEDGEROW_REDIS_PASSWORD_FILE": str(secret),
                "HEDGEROW_REDIS_CA_FILE": str(certificates.ca),
                "HEDGEROW_DATA_DIR": str(tmp_path / "data"),
            }
            copy = str(tmp_path / "copy.backup")
            for words, namespace in (("backup", "main"), ("restore", "copy"), ("verify", "copy")):
                said = hedgerow(words, copy, HEDGEROW_NAMESPACE=namespace, **variables)
                assert said.returncode == 0, said.stderr
            assert "permission" not in hedgerow("doctor", **variables).stderr
    assert not [event for event in logged(running) if "permission" in str(event)]
