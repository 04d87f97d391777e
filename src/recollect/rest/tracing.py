"""Traces of requests with OpenTelemetry, if `[server] traces` is set. The only module that imports opentelemetry.

Only the API is used: the program that starts the server, or `opentelemetry-instrument`, configures the exporter. A
span has the method, the route and the status, and never a path, query, header or body.
"""

import recollect
from recollect.errors import ConfigError

try:
    from opentelemetry import propagate, trace
except ImportError:
    raise ConfigError(f"[server] traces needs the package opentelemetry-api: {ConfigError.install('otel')}") from None

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.rest.errors import METHODS
from recollect.rest.middleware import UNCOUNTED, route_of

__all__ = ["RequestSpans"]


class RequestSpans:
    """ASGI middleware that creates one span per request, in the trace of the incoming trace context."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tracer = trace.get_tracer("recollect", recollect.__version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request within a span."""
        if scope["type"] != "http" or scope["path"] in UNCOUNTED:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "-"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with self._tracer.start_as_current_span(
            method, context=propagate.extract(headers), kind=trace.SpanKind.SERVER
        ) as span:
            status = 500

            async def on_send(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await self._app(scope, receive, on_send)
            finally:
                route = route_of(scope)
                span.update_name(f"{method} {route}")
                span.set_attributes(
                    {"http.request.method": method, "http.route": route, "http.response.status_code": status}
                )
                if status >= 500:
                    span.set_status(trace.StatusCode.ERROR)
