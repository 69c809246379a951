"""`@desk.reflected` on a desk that runs: a function is called until its attempt passes, and the best is returned."""

import asyncio

import pytest
from reflection_desk import Invalid, Made, NothingKept, Prompt, Reflected

from reflection_app.runs.models import Attempt, Run
from reflection_app.tasks.models import Task
from tests import given
from tests.client.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_function_is_called_with_what_was_wrong_until_its_attempt_passes(served: Served) -> None:
    prompts: list[Prompt] = []
    with served.client() as desk:

        @desk.reflected(tests=given.TESTS, agent="adder")
        def add_one(prompt: Prompt, *, style: str) -> str:
            """Writes f."""
            prompts.append(prompt)
            return f"{style}\n{given.WRONG if prompt.attempt == 1 else given.RIGHT}"

        best = add_one("Write f(x) that returns x + 1.", style="Short.")

    assert (best.outcome, best.succeeded, best.best.number, str(best)) == (
        "succeeded",
        True,
        2,
        f"Short.\n{given.RIGHT}",
    )
    assert "Write f(x) that returns x + 1." in prompts[0]
    assert "1 of 2 tests failed" in prompts[1]
    assert prompts[1].next.verdict is not None
    assert [message.role for message in prompts[1].next.messages][-1] == "user"
    assert (Task.objects.get().agent, Attempt.objects.count()) == ("adder", 2)
    assert (add_one.__name__, add_one.__doc__) == ("add_one", "Writes f.")


def test_asynchronous_functions_and_others_are_called_by_the_asynchronous_desk(served: Served) -> None:
    async def worked() -> list[Reflected]:
        async with served.async_client() as desk:

            @desk.reflected(tests=given.TESTS)
            async def later(prompt: str) -> str:
                await asyncio.sleep(0)
                return given.RIGHT if "failed" in prompt else given.WRONG

            @desk.reflected(tests=given.TESTS)
            def at_once(prompt: Prompt) -> Made:
                return Made(content=given.RIGHT, usage={"prompt_tokens": 7, "completion_tokens": 3})

            return [await later("Write f."), await at_once("Write f.")]

    first, second = asyncio.run(worked())
    assert (first.best.number, first.outcome) == (2, "succeeded")
    assert (second.best.number, second.run.usage.prompt_tokens, second.run.usage.unmetered_calls) == (1, 7, 0)


def test_a_function_that_fails_ends_its_run(served: Served) -> None:
    with served.client() as desk:

        @desk.reflected(tests=given.TESTS)
        def broken(prompt: str) -> str:
            raise ValueError("no model today")

        with pytest.raises(ValueError, match="no model today") as raised:
            broken("Write f.")
        with pytest.raises(Invalid, match="content"):
            desk.reflected(tests=given.TESTS)(lambda prompt: "")("Write f.")
        with pytest.raises(TypeError, match="not dict"):
            desk.reflected(tests=given.TESTS)(lambda prompt: {})("Write f.")  # type: ignore[arg-type, return-value]
    runs = Run.objects.order_by("created_at")
    assert raised.value.__notes__ == [f"Run {runs[0].pk} was cancelled."]
    assert [run.outcome for run in runs] == ["cancelled"] * 3


def test_a_run_is_gone_on_with_by_another_process(served: Served) -> None:
    made: list[int] = []

    def write(prompt: Prompt) -> str:
        made.append(prompt.attempt)
        return given.RIGHT

    with served.client() as desk:
        task = desk.submit_task("Write f.", execution="external", tests=given.TESTS)
        assert task.run is not None
        desk.wait_for_run(task.run.id)
        desk.hand_in_attempt(task.run.id, given.WRONG, attempt=1, wait_s=30)
        best = desk.reflected()(write).resume(task.run.id)
    assert (best.outcome, made) == ("succeeded", [2])


def test_a_run_that_somebody_ends_meanwhile_tells_so(served: Served) -> None:
    with served.client() as desk:

        def overtaken(prompt: Prompt) -> str:
            desk.cancel_run(desk.list_runs().results[0].id)
            return given.RIGHT

        with pytest.raises(NothingKept, match="ended as cancelled") as raised:
            desk.reflected(tests=given.TESTS)(overtaken)("Write f.")
        assert raised.value.run.outcome == "cancelled"

        # Another agent was first with this attempt: the function goes on with the next.
        def second(prompt: Prompt) -> str:
            if prompt.attempt == 1:
                run = desk.list_runs(state="waiting_agent").results[0]
                desk.hand_in_attempt(run.id, given.WRONG, attempt=1, wait_s=30)
            return given.RIGHT

        assert desk.reflected(tests=given.TESTS)(second)("Write f.").best.number == 2
