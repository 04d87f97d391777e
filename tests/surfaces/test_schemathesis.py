"""The app does what its description says, for whatever a machine thinks of sending."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from surfaces.server import settings as server_settings

import recollect
from recollect.rest.app import create_app

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "2"))
SEED = int(os.environ.get("SCHEMATHESIS_SEED", "7"))
ENDLESS = "/v1/feed"
FILES = "/v1/import"
"""Takes what other systems wrote, of which its description can only say that it is a file."""
TAKEN = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "5xx"]
"""How a request may be answered that is right in itself: also that the version it is about is gone."""


RESERVED = re.compile(r"(con|prn|aux|nul|conversations|com\d|lpt\d)(\.|\Z)", re.IGNORECASE)
"""No agent and no workspace has such a name."""


@pytest.fixture
def described(tmp_path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """The app over an empty memory, and a token that may do anything."""
    with recollect.open(tmp_path / "home") as home:
        _, secret = home.tokens.create("machine", right="admin")
        app = create_app(home, server_settings(require_token=True), upkeep=False)
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        schema.config.generation.update(allow_x00=False, with_security_parameters=False)
        schema.config.checks.positive_data_acceptance.expected_statuses = TAKEN
        schema.hook(filter_case)
        yield schema, {"Authorization": f"Bearer {secret}"}


def filter_case(context: Any, case: Any) -> bool:
    """Leave out what no description can say: cursors, what two fields say together, reserved words, what time it is."""
    body = case.body if isinstance(case.body, dict) else {}
    said = [*body.values(), *(case.query or {}).values(), *(case.path_parameters or {}).values()]
    words = [word for one in said for word in (one if isinstance(one, list) else [one]) if isinstance(word, str)]
    if any(RESERVED.match(word) for word in words):
        return False
    entries = body.get("entries") if isinstance(body.get("entries"), list) else [body]
    narrow = any(isinstance(one, dict) and one.get("scope") in ("channel", "conversation") for one in entries)
    return not narrow and "expires" not in body and "cursor" not in (case.query or {})


@pytest.mark.parametrize("mode", GenerationMode)
def test_the_app_answers_as_it_is_described(described: tuple[Any, dict[str, str]], mode: GenerationMode) -> None:
    schema, token = described
    wrong = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == ENDLESS or (operation.path == FILES and mode is GenerationMode.POSITIVE):
            continue

        @seed(SEED)
        @settings(
            max_examples=EXAMPLES, deadline=None, database=None, derandomize=False, verbosity=Verbosity.quiet,
            phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case: schemathesis.Case) -> None:
            case.call_and_validate(headers=token)

        try:
            answers()
        except Unsatisfiable:  # nothing can be wrong about a request that takes nothing
            assert mode is GenerationMode.NEGATIVE, operation.label
        except FailureGroup as failures:
            wrong.append(f"{operation.label}: {failures}")
    assert not wrong, "\n\n".join(wrong)


def test_every_route_is_described_for_people_and_machines(described: tuple[Any, dict[str, str]]) -> None:
    paths = described[0].raw_schema["paths"]
    operations = [(path, method, one) for path, methods in paths.items() for method, one in methods.items()]
    assert [path for path, _, one in operations if not one.get("description") or not one.get("summary")] == []
    names = [one["operationId"] for _, _, one in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not name.replace("_", "").isalpha() or name != name.lower()] == []
    assert [
        path for path, method, one in operations
        if method == "post" and path != FILES and "Idempotency-Key" not in str(one.get("parameters"))
    ] == []  # fmt: skip
