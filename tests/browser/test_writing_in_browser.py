"""Text that a model writes, seen in a browser before the step has ended."""

from collections.abc import Callable
from threading import Thread

import pytest
from django.db import connection
from playwright.sync_api import expect

from reflection_app.runs.advance import advance
from reflection_app.runs.models import Step, StepState
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.runs.test_partial_text import writing_project
from tests.runs.test_watching import wait_until_watched

pytestmark = pytest.mark.django_db(transaction=True)


def test_text_grows_before_the_step_ends_and_makes_room_for_the_attempt(visit: Callable[..., Visitor]) -> None:
    project = writing_project("writes", delay_ms=8_000)
    run = given.submitted_run(project, mode="actor_critic")
    page = visit(given.member(project)).go(f"/p/writes/runs/{run.pk}/")
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    wait_until_watched(run.pk)
    words_for_none = "getComputedStyle(document.querySelector('#run-attempts'), '::before').content"
    assert "No attempt yet" in page.evaluate(words_for_none)

    def go_on() -> None:
        advance(run.pk)
        connection.close()

    worker = Thread(target=go_on)
    worker.start()
    text = page.locator("#run-writing pre")
    expect(text).to_contain_text("word5")
    expect(text).to_contain_text("word20")
    assert page.evaluate(words_for_none) == "none"
    assert Step.objects.get(run=run).state == StepState.STARTED
    is_clean(page)
    worker.join()
    expect(page.locator("#run-attempts .attempt")).to_contain_text("word99")
    expect(page.locator("#run-writing pre")).to_have_count(0)
    expect(page.locator("#run-graph svg.graph-drawing")).to_be_visible()
