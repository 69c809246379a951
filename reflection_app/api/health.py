"""`/healthz`: the process answers. `/readyz`: so does everything that it needs."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu import Connection
from rest_framework.request import Request
from rest_framework.views import APIView

from reflection_app.api.permissions import AlwaysJson
from reflection_app.core.errors import NotFound
from reflection_app.core.migrations import NewerDatabase, check_database_is_not_newer

log = logging.getLogger(__name__)

PATIENCE_S = 2


class NotReady(Exception):
    """A dependency answers, and is not fit for use."""


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    states = {"database": _state_of(check_database, name="database")}
    has_database = states["database"] == "ok"
    states["migrations"] = _state_of(check_migrations, name="migrations") if has_database else "not known"
    states["broker"] = _state_of(check_broker, name="broker")
    ready = all(state == "ok" for state in states.values())
    return JsonResponse({"ready": ready, "checks": states}, status=200 if ready else 503)


def check_database() -> None:
    """Asks on a connection of its own: the pool would wait half a minute for a server that is away."""
    address = connection.get_connection_params() | {"connect_timeout": PATIENCE_S}
    with psycopg.connect(**address) as own:
        own.execute("SELECT 1")


def check_migrations() -> None:
    """Raise NotReady if migrations are missing, or if a newer version has migrated the database since we started."""
    try:
        check_database_is_not_newer(connection)
    except NewerDatabase as error:
        raise NotReady(str(error)) from None
    check_none_is_missing()


@cache
def check_none_is_missing() -> None:
    """Returns once every migration is applied; that they are is remembered, since they stay so."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise NotReady(f"{len(missing)} migrations are not applied to {DEFAULT_DB_ALIAS}")


def check_broker() -> None:
    patience = {"socket_connect_timeout": PATIENCE_S, "socket_timeout": PATIENCE_S}
    with Connection(settings.CELERY_BROKER_URL, transport_options=patience) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_S)


def _state_of(check: Callable[[], None], *, name: str) -> str:
    """`ok` or the reason. Messages of drivers name hosts and users: they go to the log, and only their kind is told."""
    try:
        check()
    except NotReady as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - each driver has its own; whichever it is, the dependency is not there
        log.warning("%s is not ready: %s", name, error)
        return f"cannot be reached ({type(error).__name__})"
    return "ok"


class NoSuchPath(APIView):
    """404 for every path of the API that is none, whatever the method."""

    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = AlwaysJson
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"There is no {request.path} here. The paths are listed at /api/v1/docs.")
