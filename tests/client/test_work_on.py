"""Agents that pull work by the client: each attempt is one agent's, held while it is made, else given back."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from reflection_desk import AsyncDesk, Desk, ExternalIdTaken, Made, Prompt
from reflection_desk.answers import Task

from reflection_app.attachments.models import AttemptAttachment
from reflection_app.runs.models import AgentLease, Run
from tests import given
from tests.attachments.samples import png
from tests.client.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)


def waiting(served: Served, many: int = 1, **task: Any) -> list[Task]:
    desk = served.client()
    body = {"tests": given.TESTS, "execution": "external", "agent": "coder"} | task
    tasks = [desk.submit_task(f"Write f, number {number}.", **body) for number in range(many)]
    for one in tasks:
        assert one.run is not None
        desk.wait_for_run(one.run.id)
    return tasks


def test_an_agent_makes_attempts_until_the_loop_is_content_and_the_queue_is_empty(served: Served) -> None:
    [task] = waiting(served, external_id="job-1")
    told: list[tuple[int, str | None]] = []

    def make(prompt: Prompt) -> str | Made:
        told.append((prompt.attempt, prompt.task.external_id if prompt.task else None))
        return given.WRONG if prompt.attempt == 1 else Made(content=given.RIGHT, usage={"prompt_tokens": 7})

    with served.client() as desk:
        assert desk.work_on(make, agents=["coder"], holder="coder-1", until_idle=True) == 2
        assert desk.work_on(make, agents=["coder"], until_idle=True) == 0
        assert task.run is not None
        run = desk.wait_for_run(task.run.id, until_finished=True)
    assert told == [(1, "job-1"), (2, "job-1")]
    assert (run.outcome, run.usage.prompt_tokens) == ("succeeded", 7)


def test_what_takes_longer_than_the_lease_is_held_by_heartbeats(served: Served) -> None:
    waiting(served)
    is_other = threading.Event()

    def make(_: Prompt) -> str:
        # A lease later nobody else has been given it.
        is_other.wait(6)
        with served.client() as other:
            assert other.claim_task() is None
        return given.RIGHT

    with served.client() as desk:
        assert desk.work_on(make, lease_s=5, most=1) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), TypeError("an attempt is a text")])
def test_an_agent_that_fails_gives_its_work_back(served: Served, error: BaseException) -> None:
    waiting(served)

    def make(_: Prompt) -> Any:
        if isinstance(error, TypeError):
            return 5
        raise error

    with served.client() as desk:
        with pytest.raises(type(error)):
            desk.work_on(make)
        again = desk.claim_task()
    assert again is not None
    assert again.run.next is not None
    assert again.run.next.attempt == 1


def test_an_agent_whose_hold_was_lost_goes_on_with_the_next(served: Served) -> None:
    first, second = waiting(served, 2)
    made: list[str] = []

    def make(prompt: Prompt) -> str:
        assert prompt.task is not None
        made.append(prompt.task.objective)
        if len(made) == 1:
            # It fell silent for so long that another agent took over.
            AgentLease.objects.update(until="2026-01-01T00:00:00Z")
            with served.client() as other:
                taken = other.claim_task(agents=["coder"])
                assert taken is not None
                other.hand_in_attempt(
                    taken.run.id, f"By another.\n\n{given.RIGHT}", attempt=1, lease_token=taken.lease_token, wait_s=10
                )
        return given.RIGHT

    with served.client() as desk:
        assert desk.work_on(make, until_idle=True) == 1
    assert made == [first.objective, second.objective]
    assert Run.objects.filter(outcome="succeeded").count() == 2


def test_an_asynchronous_agent_pulls_too_and_gives_back_when_it_is_cancelled(served: Served) -> None:
    waiting(served, 2)

    async def make(_: Prompt) -> str:
        return given.RIGHT

    async def pull() -> None:
        begun = asyncio.Event()

        async def hang(_: Prompt) -> str:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with AsyncDesk(served.url, served.key) as desk:
            assert await desk.work_on(make, most=1) == 1
            pulling = asyncio.create_task(desk.work_on(hang))
            await begun.wait()
            pulling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pulling
            assert await desk.work_on(lambda _: given.RIGHT, until_idle=True) == 1

    asyncio.run(pull())


def test_a_taken_external_id_names_whose_it_is(served: Served) -> None:
    served.project.unique_external_ids = True
    served.project.save()
    desk: Desk = served.client()
    task = desk.submit_task("Write a haiku.", kind="creative_writing", external_id="once")
    with pytest.raises(ExternalIdTaken) as refused:
        desk.submit_task("Write another.", kind="creative_writing", external_id="once")
    assert refused.value.task_id == str(task.id)
    assert task.run is not None
    assert refused.value.run_id == str(task.run.id)


def test_an_attempt_comes_with_its_files(served: Served, tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_bytes(png(40, 30))
    waiting(served)
    with served.client() as desk:
        made = Made(content=given.RIGHT, attachments=[tmp_path / "chart.png"])
        assert desk.work_on(lambda _prompt: made, most=1) == 1
    held = AttemptAttachment.objects.get()
    assert held.attachment is not None
    assert (held.attachment.name, held.attachment.width) == ("chart.png", 40)
