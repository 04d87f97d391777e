"""The files in `deploy/` and the workflows agree with the server and with each other. Other programs run them."""

import configparser
import json
import re
from pathlib import Path

import pytest
import yaml
from surfaces.server import serving

import recollect

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def test_every_metric_of_the_dashboard_is_one_of_the_server(tmp_path: Path) -> None:
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    asked = {name for panel in panels for one in panel["targets"] for name in re.findall(r"recollect_\w+", one["expr"])}
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        server.client.post("/v1/entries", json={"content": "We deploy on Tuesdays"})
        server.client.get("/version")
        text = server.client.get("/metrics").text
    given = set(re.findall(r"^(recollect_\w+)", text, re.MULTILINE))
    assert asked
    assert asked <= given


def test_the_containers_use_settings_that_exist_and_start_the_server_unprivileged() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert services["server"]["build"]["dockerfile"] == "deploy/Dockerfile"
    assert {name for service in services.values() for name in service} >= {"healthcheck", "volumes", "restart"}
    last = image.rpartition("FROM ")[2]
    assert last.index("USER 10001") < last.index("CMD [")
    assert "HEALTHCHECK" in last
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", image, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())
    variables = {*re.findall(r"RECOLLECT_\w+", image), *services["server"]["environment"]}
    documented = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    assert [name for name in variables if name not in documented] == []


def test_the_unit_starts_the_server_with_a_state_directory_of_its_own() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "recollect.service").read_text())
    service = unit["Service"]
    assert service["ExecStart"].split()[1:] == ["serve", "--log-format", "json"]
    assert service["Environment"] == f"RECOLLECT_HOME=/var/lib/{service['StateDirectory']}/memory"


@pytest.mark.parametrize("name", ["tests.yml", "release.yml"])
def test_a_workflow_runs_commands_that_exist(name: str) -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows" / name).read_text())["jobs"]
    commands = [step["run"].split()[0] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    assert [one for one in commands if "/" in one and not (ROOT / one).exists()] == []
