"""`@desk.reflected` on a desk that runs: a function is called until its attempt passes, and the best is returned."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from reflection_desk import Invalid, Made, NothingKept, Prompt, Reflected, StillGoing

from reflection_app.runs.models import Attempt, Run
from reflection_app.tasks.models import Task
from tests.client.conftest import Served
from tests.runs.critiques import critique
from tests.runs.scripts import RIGHT, TESTS, WRONG

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_function_is_called_with_what_was_wrong_until_its_attempt_passes(served: Served) -> None:
    prompts: list[Prompt] = []
    with served.client() as desk:

        @desk.reflected(tests=TESTS, agent="adder")
        def add_one(prompt: Prompt, *, style: str) -> str:
            """Writes f."""
            prompts.append(prompt)
            return f"{style}\n{WRONG if prompt.attempt == 1 else RIGHT}"

        best = add_one("Write f(x) that returns x + 1.", style="Short.")

    assert (best.outcome, best.succeeded, best.best.number, str(best)) == ("succeeded", True, 2, f"Short.\n{RIGHT}")
    assert "Write f(x) that returns x + 1." in prompts[0]
    assert "1 of 2 tests failed" in prompts[1]
    assert prompts[1].next.verdict is not None
    assert [message.role for message in prompts[1].next.messages][-1] == "user"
    assert (Task.objects.get().agent, Attempt.objects.count()) == ("adder", 2)
    assert (add_one.__name__, add_one.__doc__) == ("add_one", "Writes f.")


def test_asynchronous_functions_and_others_are_called_by_the_asynchronous_desk(served: Served) -> None:
    async def worked() -> list[Reflected]:
        async with served.async_client() as desk:

            @desk.reflected(tests=TESTS)
            async def later(prompt: str) -> str:
                await asyncio.sleep(0)
                return RIGHT if "failed" in prompt else WRONG

            @desk.reflected(tests=TESTS)
            def at_once(prompt: Prompt) -> Made:
                return Made(content=RIGHT, usage={"prompt_tokens": 7, "completion_tokens": 3})

            return [await later("Write f."), await at_once("Write f.")]

    first, second = asyncio.run(worked())
    assert (first.best.number, first.outcome) == (2, "succeeded")
    assert (second.best.number, second.run.usage.prompt_tokens, second.run.usage.unmetered_calls) == (1, 7, 0)


def test_the_best_attempt_is_returned_where_none_passes(served: Served) -> None:
    with served.client() as desk:
        never = desk.reflected(tests=TESTS, limits={"max_iterations": 2})(lambda prompt: WRONG)
        best = never("Write f.")
    assert (best.outcome, best.succeeded, best.content) == ("exhausted", False, WRONG)


def test_a_function_that_fails_ends_its_run(served: Served) -> None:
    with served.client() as desk:

        @desk.reflected(tests=TESTS)
        def broken(prompt: str) -> str:
            raise ValueError("no model today")

        with pytest.raises(ValueError, match="no model today") as raised:
            broken("Write f.")
        with pytest.raises(Invalid, match="content"):
            desk.reflected(tests=TESTS)(lambda prompt: "")("Write f.")
        with pytest.raises(TypeError, match="not dict"):
            desk.reflected(tests=TESTS)(lambda prompt: {})("Write f.")  # type: ignore[arg-type, return-value]
    runs = Run.objects.order_by("created_at")
    assert raised.value.__notes__ == [f"Run {runs[0].pk} was cancelled."]
    assert [run.outcome for run in runs] == ["cancelled"] * 3


def test_a_run_is_gone_on_with_by_another_process(served: Served) -> None:
    made: list[int] = []

    def write(prompt: Prompt) -> str:
        made.append(prompt.attempt)
        return RIGHT

    with served.client() as desk:
        task = desk.submit_task("Write f.", execution="external", tests=TESTS)
        assert task.run is not None
        desk.wait_for_run(task.run.id)
        desk.hand_in_attempt(task.run.id, WRONG, attempt=1, wait_s=30)
        best = desk.reflected()(write).resume(task.run.id)
    assert (best.outcome, made) == ("succeeded", [2])


def test_a_run_that_somebody_ends_meanwhile_tells_so(served: Served) -> None:
    with served.client() as desk:

        def overtaken(prompt: Prompt) -> str:
            desk.cancel_run(desk.list_runs().results[0].id)
            return RIGHT

        with pytest.raises(NothingKept, match="ended as cancelled") as raised:
            desk.reflected(tests=TESTS)(overtaken)("Write f.")
        assert raised.value.run.outcome == "cancelled"

        # Another agent was first with this attempt: the function goes on with the next.
        def second(prompt: Prompt) -> str:
            if prompt.attempt == 1:
                run = desk.list_runs(state="waiting_agent").results[0]
                desk.hand_in_attempt(run.id, WRONG, attempt=1, wait_s=30)
            return RIGHT

        assert desk.reflected(tests=TESTS)(second)("Write f.").best.number == 2


def test_a_run_that_waits_for_a_person_is_waited_for(served: Served) -> None:
    served.critic(critique(10))
    ids: list[UUID] = []
    with served.client() as desk, served.reviewer() as reviewer:

        def write(prompt: str) -> str:
            ids.append(desk.list_runs().results[0].id)
            return "The sea."

        poem = desk.reflected(timeout_s=0.5, mode="actor_critic")(write)
        with pytest.raises(StillGoing, match="waiting_review"):
            poem("Write a haiku.")
        claim = reviewer.claim_review()
        assert claim is not None
        reviewer.decide_review(
            claim.review.id, lease_token=claim.lease_token, decision="overrule", verdict="PASS", reason="It is fine."
        )
        best = poem.resume(ids[0])
    assert (best.content, best.outcome) == ("The sea.", "succeeded")


def test_an_asynchronous_function_needs_the_asynchronous_desk(served: Served) -> None:
    async def write(prompt: str) -> str:
        return RIGHT

    decorated: Any = served.client().reflected()
    with pytest.raises(TypeError, match="AsyncDesk"):
        decorated(write)
