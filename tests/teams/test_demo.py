"""The demo: loaded in one go, full on every page, and gone without a trace when it is removed."""

import time

import pytest

from reflection_app.core.audit import Actor
from reflection_app.runs.models import Run
from reflection_app.teams.demo.loading import load_demo
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_loaded_with_a_month_of_runs() -> None:
    user = make_user("admin", is_staff=True)
    began = time.monotonic()
    project = load_demo(actor=Actor(user=user))
    print(time.monotonic() - began)
    assert Run.objects.filter(project=project).count() > 200
