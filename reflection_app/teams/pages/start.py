"""Get started: the sample queue, a sample task, and the connection of an agent."""

import json
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reflection_app.core.models import ApiKey, Project
from reflection_app.core.permissions import Permission
from reflection_app.teams.pages.members import NEW_KEY
from reflection_app.teams.projects import USUAL_SCOPES
from reflection_app.web.access import DeskRequest, project_page, take_secret_once
from reflection_app.web.list_pages import wants_part

# A task that even a small model may solve, and that tests decide without a critic.
SAMPLE_OBJECTIVE = "Write a Python function add(a, b) that returns the sum of two numbers."
SAMPLE_TESTS = {"entry_point": "add", "cases": [{"args": [2, 3], "expected": 5}]}


@never_cache
@project_page()
@require_safe
def get_started(request: DeskRequest) -> HttpResponse:
    """The page, or only its check of the key in `?key=` for htmx: 204 until that key's first request."""
    project = request.place.project
    key = _key_of(project, request.GET.get("key", ""))
    if wants_part(request):
        if key is not None and key.last_used_at is None:
            return HttpResponse(status=204)
        return render(request, "teams/start/page.html#first-request", {"key": key})
    may_create_key = request.place.may(Permission.MANAGE_KEYS)
    secret = take_secret_once(request, NEW_KEY, of=project.pk) if may_create_key else ""
    used = project.api_keys.filter(last_used_at__isnull=False, revoked_at=None)
    context = {
        "key": key,
        # Without a key in the address: the one that sent the project's last request.
        "used_key": None if key else used.order_by("-last_used_at").first(),
        "secret": secret,
        # What the snippets show.
        "shown_key": secret or "rd_…",
        "address": request.build_absolute_uri("/").rstrip("/"),
        "may_create_key": may_create_key,
        "scopes": [scope.value for scope in USUAL_SCOPES],
        "sample_objective": SAMPLE_OBJECTIVE,
        "sample_tests": json.dumps(SAMPLE_TESTS),
    }
    return render(request, "teams/start/page.html", context)


def _key_of(project: Project, text: str) -> ApiKey | None:
    """Return the project's key with this id, or None."""
    try:
        return project.api_keys.filter(pk=UUID(text)).first()
    except ValueError:
        return None
