import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from reflection_app.config import env
from reflection_app.config.schedule import OF_FRESH_WORKERS, OF_THE_WORKER_BEHIND

ROOT = Path(settings.BASE_DIR)
OURS = {"migrate", "web", "worker", "behind", "beat"}
LOOSENED = ["seccomp=", "apparmor=", "systempaths="]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return found


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_variable_given_to_our_processes_is_documented(services: dict[str, Any], name: str) -> None:
    assert services[name]["environment"].keys() <= env.DOCUMENTED.keys()


def test_only_the_workers_are_given_provider_keys(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if "env_file" in service] == ["worker", "behind"]


def test_the_workers_have_the_queues_that_they_have_elsewhere(services: dict[str, Any]) -> None:
    for name, queues in (("worker", OF_FRESH_WORKERS), ("behind", OF_THE_WORKER_BEHIND)):
        assert f"-Q {','.join(queues)} " in services[name]["command"]


@pytest.mark.parametrize("name", sorted(OURS))
def test_no_process_of_ours_is_privileged(services: dict[str, Any], name: str) -> None:
    service = services[name]

    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "user", "pid", "network_mode"} & service.keys()


def test_only_the_worker_is_loosened_and_only_by_what_bubblewrap_needs(services: dict[str, Any]) -> None:
    options = {name: services[name]["security_opt"][1:] for name in OURS}

    assert [option.split("=")[0] + "=" for option in options.pop("worker")] == LOOSENED
    assert not any(options.values())


def test_the_workers_system_calls_leave_bubblewrap_what_it_uses() -> None:
    profile = json.loads((ROOT / "reflection_app/config/worker-seccomp.json").read_text())
    refused = {name for rule in profile["syscalls"] for name in rule["names"]}

    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    assert not refused & {"clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "sethostname", "prctl"}


def test_the_image_dumps_the_version_of_postgresql_that_runs_beside_it(services: dict[str, Any]) -> None:
    version = services["postgres"]["image"].removeprefix("pgvector/pgvector:pg")
    image = (ROOT / "Dockerfile").read_text()

    assert f" postgresql-client-{version} " in image
    assert f":/usr/lib/postgresql/{version}/bin:" in image
