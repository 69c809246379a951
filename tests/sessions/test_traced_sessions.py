"""The page of a session that was made of a trace."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.sessions.models import AgentTrace, Transcript
from reflection_app.sessions.traces import LATE, assemble_due, take_spans
from tests import given
from tests.sessions.spans import TRACE_ID, agent, chat, text

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_session_says_which_trace_it_was_made_of_and_what_is_missing(client: Client) -> None:
    project = given.project("traced")
    root = agent("booker")
    take_spans(project, [root, chat(1, [text("user", given.HOSTILE)], [text("assistant", "Done.")], parent=root)])
    assemble_due(timezone.now() + timedelta(minutes=2))
    given.logged_in(client, project)
    path = f"/p/traced/transcripts/{Transcript.objects.get().pk}/"
    page = client.get(path).text
    assert "OpenTelemetry trace" in page
    assert TRACE_ID in page
    assert given.HOSTILE not in page
    assert LATE not in page
    take_spans(project, [chat(5, [text("user", "More.")], [], parent=root)])
    assemble_due(timezone.now() + timedelta(minutes=2))
    assert AgentTrace.objects.get().problem == LATE
    assert LATE in client.get(path).text
