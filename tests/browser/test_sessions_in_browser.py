"""A session's page grows while somebody looks at it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.audit import Actor
from reflection_app.core.models import Role
from reflection_app.runs.advance import advance
from reflection_app.sessions.recording import (
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
)
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.sessions.recorded import INLINE, turns, watched_project

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def test_new_turns_reflections_and_the_end_come_by_themselves(visit: Callable[..., Visitor]) -> None:
    project = watched_project(slug="growing")
    sent = {"messages": turns("Hello", "tool: Error: no seats\nat line 2", "c"), "reflection": INLINE}
    transcript = open_transcript(project, TranscriptSubmission.model_validate(sent), actor=Actor())
    assert transcript.run_id
    advance(transcript.run_id)
    visitor = visit(given.member(project, Role.VIEWER))
    page = visitor.go(f"/p/growing/transcripts/{transcript.pk}/")
    expect(page.get_by_role("heading", name="Reflection 1")).to_be_visible()
    page.get_by_text("Error: no seats", exact=True).click()

    add_turns(
        transcript, TurnsInput.model_validate({"messages": turns("**Later**", "e", "f", "g", "h")}), actor=Actor()
    )
    expect(page.get_by_text("Reflection in progress.")).to_be_visible()
    advance(transcript.run_id)
    expect(page.get_by_role("heading", name="Reflection 2")).to_be_visible()
    expect(page.get_by_text("at line 2")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(8)
    is_clean(page)

    end_transcript(transcript, actor=Actor())
    advance(transcript.run_id)
    expect(page.get_by_text("not evaluated")).to_be_visible()
    expect(page.locator(".session-tail")).to_have_count(0)
