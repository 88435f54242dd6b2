"""The chart renders to what Kubernetes accepts, and its pods may do little."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from service.cli.main import COMMANDS
from service.settings import Settings
from tests.deploy.tools import ask, read_yaml, tool
from tests.docs.pages import DOCS, ROOT

CHART = "deploy/helm/hedgerow"
NEEDED = ("--set", "redis.url=rediss://store.example:6379/0,redis.passwordSecret.name=store")
GIVEN = "redis.url=redis://r,redis.passwordSecret.name=s"
MORE = """
image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
redis: {caSecret: {name: authority}}
settings: {scale: "1:10", max_items: 20000000, exploration_share: 0.05, gorse_api: false}
learner: {partitions: 3}
api: {autoscaling: {enabled: false}, replicas: 4, podAnnotations: {scrape: "yes"}}
trainer: {enabled: false}
ingress: {enabled: true, host: shop.example, className: nginx, tlsSecret: certificate}
networkPolicy: {store: [{ipBlock: {cidr: 10.0.0.0/8}}], webhooks: [{ipBlock: {cidr: 0.0.0.0/0}}]}
nodeSelector: {disk: fast}
"""


def render(*words: str) -> str:
    return ask("helm", "template", "shop", CHART, *NEEDED, *words)


@pytest.fixture(params=["defaults", "more"], scope="module")
def rendered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The chart with the values that are needed, and with many others."""
    if request.param == "defaults":
        return render()
    values = tmp_path_factory.mktemp("chart") / "values.yaml"
    values.write_text(MORE)
    return render("--values", str(values))


def pods(rendered: str) -> dict[str, Any]:
    """Return the specification of the pods of each Deployment, by its name."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in read_yaml(rendered)
        if one["kind"] == "Deployment"
    }


def settings(rendered: str) -> dict[str, str]:
    [found] = [one["data"] for one in read_yaml(rendered) if one["kind"] == "ConfigMap"]
    return dict(found)


def test_helm_finds_nothing_wrong_with_the_chart() -> None:
    ask("helm", "lint", "--strict", CHART, *NEEDED)


@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_kubernetes_accepts_every_object(rendered: str, version: str, tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(rendered)
    said = ask("kubernetes-validate", "--strict", "-k", version, str(tmp_path / "objects.yaml"))
    assert said.count("passed for resource") >= len(pods(rendered))


def test_every_pod_may_do_little(rendered: str) -> None:
    for name, pod in pods(rendered).items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert {"requests", "limits"} <= container["resources"].keys(), name
        assert "env" not in container, f"{name}: secrets are files"
        assert container["args"][1] in COMMANDS, name


def test_the_user_of_the_pods_is_that_of_the_image(rendered: str) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    for pod in pods(rendered).values():
        assert f"--uid {pod['securityContext']['runAsUser']} " in dockerfile


def test_settings_exist_and_keep_their_values(rendered: str) -> None:
    known = {f"HEDGEROW_{name.upper()}" for name in Settings.model_fields} | {"COMPILE_FOR"}
    found = settings(rendered)
    assert {name for name in found if name.removesuffix("_FILE") not in known} <= known
    if "HEDGEROW_MAX_ITEMS" in found:
        assert found["HEDGEROW_MAX_ITEMS"] == "20000000"
        assert found["HEDGEROW_EXPLORATION_SHARE"] == "0.05"
        assert found["HEDGEROW_GORSE_API"] == "false"


def test_each_partition_has_a_learner_of_its_own(rendered: str) -> None:
    commands = [pod["containers"][0]["args"] for pod in pods(rendered).values()]
    learners = [words[3] for words in commands if words[1] == "learner"]
    assert sorted(learners) == [str(n) for n in range(len(learners))]
    assert settings(rendered)["HEDGEROW_PARTITIONS"] == str(len(learners))


def test_a_probe_asks_what_it_is_for(rendered: str) -> None:
    [api] = pods(rendered)["shop-hedgerow-api"]["containers"]
    asked = {name: api[name]["httpGet"]["path"] for name in api if name.endswith("Probe")}
    assert asked == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_only_the_api_is_reached(rendered: str) -> None:
    policies = [one for one in read_yaml(rendered) if one["kind"] == "NetworkPolicy"]
    everything, api = sorted(policies, key=lambda one: str(one["metadata"]["name"]))
    assert everything["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert everything["spec"]["ingress"] == []
    labels = api["spec"]["podSelector"]["matchLabels"]
    assert labels["app.kubernetes.io/component"] == "api"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ("redis.passwordSecret.name=s", "redis.url must be the address"),
        ("redis.url=redis://r:6379", "redis.passwordSecret.name must name a Secret"),
        (f"{GIVEN},settings.port=1", "follows from other"),
        (f"{GIVEN},ingress.enabled=true", "ingress.host"),
        (f"{GIVEN},settings.redis_password_file=/p", "name a Secret in redis.passwordSecret"),
        (f"{GIVEN},settings.REDIS_CA_FILE=/c", "or redis.caSecret"),
        (f"{GIVEN},settings.jobs_redis_url=redis://:p@j", "is in the store of redis.url"),
    ],
)
def test_what_is_missing_or_wrong_is_said(values: str, says: str) -> None:
    done = subprocess.run(
        [tool("helm"), "template", "shop", CHART, "--set", values],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert says in done.stderr


def test_the_page_names_every_top_value() -> None:
    page = (DOCS / "how-to" / "run-on-kubernetes.md").read_text()
    [values] = read_yaml((ROOT / CHART / "values.yaml").read_text())
    assert [name for name in values if f"`{name}" not in page] == []
    [chart] = read_yaml((ROOT / CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (ROOT / "pyproject.toml").read_text()
