"""What a model writes reaches open pages while it is written, not too often, and leaves nothing behind."""

import asyncio
from typing import Any

import pytest
from django.test import Client

from reflection_app.adapters.live import PartialText, group_of_run, typist
from reflection_app.adapters.llm.scripted import ScriptedAnswer, register_script
from reflection_app.core.models import Project
from reflection_app.runs.events import Event
from reflection_app.runs.live import NOTHING_WRITTEN
from reflection_app.runs.models import Run, RunState, Step
from tests import given
from tests.runs.critiques import critique
from tests.runs.test_run_socket import connected, go_on, in_thread, member_of, play
from tests.runs.test_watching import wait_until_watched

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = " ".join(f"word{number}" for number in range(100))


def writing_project(name: str, text: str = TEXT, *, delay_ms: int = 1500) -> Project:
    """A project whose actor takes its time."""
    answers: dict[str, Any] = {
        "attempt-1/answer": ScriptedAnswer(text=text, delay_ms=delay_ms),
        "attempt-1/critique": critique(95, approved=True),
    }
    return given.project(
        name, models_by_role={"default": register_script(name, answers)}, review_policy={"audit_share": 0}
    )


async def heard_while_running(run: Run, client: Client, *, until: str = "was accepted") -> list[str]:
    """Each message until the run has ended."""
    heard: list[str] = []
    async with connected(run, client) as socket:
        await socket.hear()
        await in_thread(wait_until_watched)(run.pk)
        going = asyncio.ensure_future(in_thread(go_on)(run))
        while not socket.shows(until):
            heard.append(await socket.hear())
        await going
        assert not socket.shows("Writing…")
    return heard


def test_text_grows_on_the_page_and_is_gone_with_the_result() -> None:
    project = writing_project("grows")
    run = given.submitted_run(project, mode="actor_critic")
    client = member_of(project)

    async def scene() -> None:
        heard = await heard_while_running(run, client)
        partial = [message for message in heard if "Writing…" in message]
        # The text changed thirty times in a second and a half, of which four a second are sent.
        assert 3 <= len(partial) <= 8
        assert "Attempt 1" in partial[0]
        lengths = [len(message) for message in partial]
        assert lengths == sorted(lengths)
        assert lengths[-1] > lengths[0]
        assert sum(NOTHING_WRITTEN in message for message in heard) == 1

    play(scene)
    assert not Event.objects.filter(payload__icontains="word").exists()


def test_hostile_text_is_shown_as_text() -> None:
    project = writing_project("hostile", f"{given.HOSTILE} </pre></section> " * 20)
    run = given.submitted_run(project, mode="actor_critic")
    client = member_of(project)

    async def scene() -> None:
        partial = [message for message in await heard_while_running(run, client) if "Writing…" in message]
        assert partial
        assert all("<script" not in message and "<img" not in message for message in partial)
        assert any("&lt;script&gt;" in message for message in partial)
        assert all(message.count("</pre>") == 1 for message in partial)

    play(scene)


def test_text_of_a_step_that_has_ended_is_not_shown() -> None:
    project = writing_project("late", delay_ms=0)
    run = given.submitted_run(project, mode="actor_critic")
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    Step.objects.create(
        run=run, seq=1, key="attempt-1/answer", kind="generate", request={}, state="done", started_at=run.created_at
    )
    client = member_of(project)

    async def scene() -> None:
        async with connected(run, client) as socket:
            await socket.hear()
            stale = PartialText(step=1, order=(1, 5), role="actor", text="stale")
            typist.send(group_of_run(run.pk), stale.as_message())
            assert await socket.communicator.receive_nothing(timeout=1.0)

    play(scene)
