"""What is deployed by our files is what the command takes and the server answers."""

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with schemathesis

from claude_mem.cli.commands import build
from claude_mem.serve.team_server.server_table import TABLE

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))
CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/kubernetes.md").read_text(encoding="utf-8")
MANIFESTS: list[dict[str, Any]] = [
    found for part in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) for found in yaml.safe_load_all(part)
]
OPEN = {endpoint.path for endpoint in TABLE if endpoint.scope == "open"}


def understood(arguments: list[str]) -> Namespace:
    """As `claude-mem server …` is. A variable of compose is whatever it is by default."""
    plain = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", each) for each in arguments]
    return build(["server"]).parse_args(["server", *plain])


def container() -> dict[str, Any]:
    found: dict[str, Any] = MANIFESTS[0]["spec"]["template"]["spec"]["containers"][0]
    return found


def test_the_compose_file_has_a_database_and_a_server_that_waits_for_it() -> None:
    services = COMPOSE["services"]
    assert services.keys() == {"database", "server"}
    assert "pgvector" in services["database"]["image"]
    assert services["server"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "POSTGRES_PASSWORD:?" in services["database"]["environment"]["POSTGRES_PASSWORD"]
    assert understood(services["server"]["command"]).listen == ("0.0.0.0", 37780)
    assert all(port.startswith("127.0.0.1:") for port in services["server"]["ports"])


def test_what_the_image_is_made_of_is_there_and_its_command_is_understood() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
    command = re.search(r"^CMD \[(.*)\]$", CONTAINERFILE, re.MULTILINE)
    assert command is not None
    assert understood(re.findall(r'"([^"]*)"', command[1])).listen == ("0.0.0.0", 37780)
    assert "USER 10001" in CONTAINERFILE


def test_two_replicas_are_probed_where_no_key_is_needed_and_have_time_to_drain() -> None:
    kinds = [each["kind"] for each in MANIFESTS]
    assert kinds == ["Deployment", "Service", "PodDisruptionBudget", "Ingress"]
    spec = MANIFESTS[0]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    ready = container()["readinessProbe"]
    assert ready["httpGet"]["path"] in OPEN
    drain_s = understood(container()["args"]).drain
    assert drain_s > ready["periodSeconds"] * ready["failureThreshold"] * 2
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] > drain_s + 10


@pytest.mark.parametrize("kind", ["Deployment", "Service", "PodDisruptionBudget"])
def test_the_manifests_name_the_same_pods(kind: str) -> None:
    spec = next(each["spec"] for each in MANIFESTS if each["kind"] == kind)
    selector = spec["selector"].get("matchLabels", spec["selector"])
    assert selector == MANIFESTS[0]["spec"]["template"]["metadata"]["labels"]


def test_the_databases_address_comes_from_a_secret_and_is_no_argument() -> None:
    (variable,) = container()["env"]
    assert variable["name"] == "CLAUDE_MEM_DATABASE_URL"
    assert "secretKeyRef" in variable["valueFrom"]
    assert "postgresql://" not in str(container()["args"])
