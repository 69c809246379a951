"""What a run's page says while nobody is at work on it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from reflection_app.runs.models import Run, RunState
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, submit
from tests.web.stories import unsure_project

pytestmark = pytest.mark.django_db(transaction=True)


def test_waits_are_told_on_every_width_in_both_colours(visit: Callable[..., Visitor]) -> None:
    project = unsure_project("waits")
    run, user = submit(project), make_member(project)
    late = timezone.now() + timedelta(seconds=settings.RUN_LEASE_S * 0.6)
    due = timezone.now() + timedelta(minutes=20)
    states: dict[str, tuple[dict[str, Any], str]] = {
        "silent": ({"state": RunState.RUNNING, "lease_until": late}, "The worker has been silent"),
        "gone": (
            {"state": RunState.QUEUED, "lease_until": None, "worker_deaths": 1},
            "Its worker is gone; it waits for another.",
        ),
        "asked": (
            {"worker_deaths": 0, "not_before": due, "waiting_for": "as the model's provider asked"},
            f"It waits until {due:%H:%M:%S} UTC",
        ),
    }
    light, dark = visit(user), visit(user, scheme="dark")
    for name, (changed, said) in states.items():
        Run.objects.filter(pk=run.pk).update(**changed)
        for scheme, visitor in (("light", light), ("dark", dark)):
            page = visitor.go(f"/p/waits/runs/{run.pk}/")
            expect(page.locator(".run-explained")).to_contain_text(said)
            is_clean(page, f"run-{name}-{scheme}", widths=(390, 1280))
