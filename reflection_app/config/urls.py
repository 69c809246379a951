from django.urls import include, path

from reflection_app.api.health import healthz, readyz
from reflection_app.api.mcp.gate import McpGate
from reflection_app.sessions.api import TraceIntake

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    # What asgi.py serves there asks this first.
    path("mcp", McpGate.as_view(), name="mcp"),
    # Where exporters of OTLP look for it.
    path("v1/traces", TraceIntake.as_view(), name="otlp-traces"),
    path("api/v1/", include("reflection_app.api.urls")),
    path("", include("reflection_app.web.urls")),
]
