"""The app does what its description says, for whatever a machine thinks of sending."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.openapi.checks import RejectedPositiveData
from surfaces.server import settings as server_settings

import recollect
from recollect.rest.app import create_app

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "3"))
SEED = int(os.environ.get("SCHEMATHESIS_SEED", "7"))
ENDLESS = "/v1/feed"
FILES = "/v1/import"
"""Takes what other systems wrote, of which its description can only say that it is a file."""
TAKEN = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "5xx"]
"""How a request may be answered that is right in itself: also that the version it is about is gone."""
UNSAID = (
    "the expiry time is in the past",  # what time it is
    "is a reserved word",
    "is not in Unicode normal form",  # no agent and no workspace has such a name
    "is not a valid cursor",  # cursors
    # What two fields say together:
    "needs the conversation it belongs to",
    "needs the channel it belongs to",
    "lives as long as its conversation",
    "pass its chat_id with resume",
    "no other resolution takes one",
    "is empty; there is nothing to append",
    "must have the tool_call_id of their call",
    "pass `after` or `before`, not both",
    "no open tool call",  # what was said before
)
"""Why requests are refused that fit their description: what no description can say."""


@pytest.fixture
def described(tmp_path: Path) -> Iterator[tuple[Any, dict[str, str], dict[str, str]]]:
    """The app over a small memory, a token that may do anything, and what there is by the names of parameters."""
    with recollect.open(tmp_path / "home") as home:
        _, secret = home.tokens.create("machine", right="admin")
        mem = home.agent("default")
        talk = mem.conversations.start()
        said = talk.user("When do we deploy?")
        entry = mem.remember("We deploy on [[Tuesdays]]")
        reminder = mem.reminders.add("2026-03-16", "deploy")
        known = {"ref": talk.ref_code, "hash": said.hash, "name_or_id": entry.id, "id": reminder.id}
        app = create_app(home, server_settings(require_token=True), upkeep=False)
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        schema.config.generation.update(allow_x00=False, with_security_parameters=False)
        schema.config.checks.positive_data_acceptance.expected_statuses = TAKEN
        schema.hook(filter_failure)
        yield schema, {"Authorization": f"Bearer {secret}"}, known


def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether an answer contradicts the description."""
    return not (isinstance(failure, RejectedPositiveData) and any(words in response.text for words in UNSAID))


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
def test_the_app_answers_as_it_is_described(
    described: tuple[Any, dict[str, str], dict[str, str]], mode: GenerationMode
) -> None:
    schema, token, known = described
    wrong = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == ENDLESS or (operation.path == FILES and mode is GenerationMode.POSITIVE):
            continue

        @seed(SEED)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=False,
            verbosity=Verbosity.quiet,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case: schemathesis.Case) -> None:
            if mode is GenerationMode.POSITIVE and known.keys() & case.path_parameters.keys():
                case.path_parameters.update({name: known[name] for name in known.keys() & case.path_parameters.keys()})
                case.query = {name: value for name, value in case.query.items() if name not in ("workspace", "agent")}
            case.call_and_validate(headers=token)

        try:
            answers()
        except Unsatisfiable:  # nothing can be wrong about a request that takes nothing
            assert mode is GenerationMode.NEGATIVE, operation.label
        except FailureGroup as failures:
            wrong.append(f"{operation.label}: {failures}")
    assert not wrong, "\n\n".join(wrong)


def test_every_route_is_described_for_people_and_machines(
    described: tuple[Any, dict[str, str], dict[str, str]],
) -> None:
    paths = described[0].raw_schema["paths"]
    operations = [(path, method, one) for path, methods in paths.items() for method, one in methods.items()]
    assert [path for path, _, one in operations if not one.get("description") or not one.get("summary")] == []
    names = [one["operationId"] for _, _, one in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not name.replace("_", "").isalpha() or name != name.lower()] == []
    changing = [(path, one) for path, method, one in operations if method != "get" and path != FILES]
    without = {path for path, one in changing if "Idempotency-Key" not in str(one.get("parameters"))}
    reading = {
        "/v1/recall",
        "/v1/query",
        "/v1/context",
        "/v1/orient",
        "/v1/conversations/{ref}/messages",
        "/v1/conversations/search",
        "/v1/conversations/{ref}/find",
    }
    assert without == reading | {"/v1/session"}
    parameters = [(path, one) for path, _, operation in operations for one in operation.get("parameters", [])]
    assert [(path, one["name"]) for path, one in parameters if "null" in str(one["schema"])] == []
