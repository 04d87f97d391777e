"""Traces of requests, with the real packages of OpenTelemetry and an exporter in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from surfaces.server import serving, settings

import recollect

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def own(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    """The spans of recollect; packages that it uses may have others."""
    found = spans.get_finished_spans()
    return [one for one in found if one.instrumentation_scope and one.instrumentation_scope.name == "recollect"]


def test_a_request_is_one_span_in_the_trace_of_its_caller(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(traces=True)) as server:
        server.client.get("/healthz")
        server.client.get("/v1/entries/no such thing", headers={"traceparent": PARENT})
        server.client.post("/v1/recall", json={"query": "a secret"})
    missing, recall = own(spans)
    assert missing.name == "GET /v1/entries/{name_or_id}"
    assert missing.attributes == {
        "http.request.method": "GET",
        "http.route": "/v1/entries/{name_or_id}",
        "http.response.status_code": 404,
    }
    assert missing.kind is trace.SpanKind.SERVER
    assert missing.context is not None
    assert f"{missing.context.trace_id:032x}" == PARENT.split("-")[1]
    assert recall.name == "POST /v1/recall"
    assert recall.parent is None
    assert "secret" not in recall.to_json()
    assert "such thing" not in missing.to_json()


def test_no_span_of_the_web_framework_has_what_was_asked(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home, settings(traces=True)) as server:
        server.client.get("/v1/recall", params={"q": "a secret"})
        server.client.get("/v1/entries/a secret")
    assert [one.name for one in spans.get_finished_spans()] == ["GET /v1/recall", "GET /v1/entries/{name_or_id}"]
    assert not [one for one in spans.get_finished_spans() if "secret" in one.to_json()]


def test_without_the_setting_there_is_no_span(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    with recollect.open(tmp_path / "memory.db") as home, serving(home) as server:
        server.client.post("/v1/recall", json={"query": "port"})
    assert spans.get_finished_spans() == ()


def test_a_server_without_the_package_starts_unless_traces_are_asked_for() -> None:
    program = (
        "import sys\n"
        "sys.modules['recollect.rest.tracing'] = None\n"
        "from recollect.rest.app import create_app\n"
        "print('recollect.rest.tracing' in sys.modules and sys.modules['recollect.rest.tracing'] is None)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
