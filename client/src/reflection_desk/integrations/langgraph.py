"""LangGraph: a node that submits an answer for review and continues with the decision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, overload
from uuid import NAMESPACE_OID, uuid5

from reflection_desk.answers import LastVerdict, Review, Run
from reflection_desk.async_desk import AsyncDesk
from reflection_desk.calls import reviews, work
from reflection_desk.desk import Desk
from reflection_desk.errors import DeskError
from reflection_desk.integrations import needing
from reflection_desk.steps import Invoke, Sender, Steps

with needing("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import interrupt

type Read = str | Callable[[Any], str]


class Decision(TypedDict):
    """The decision that the node writes to the graph's state. Every checkpointer can serialize it.

    `prompt` is the prompt for the model's next attempt; it is empty once the run has ended, accepted or not. `answer`
    is then the final answer, which a reviewer may have edited. `decided_by` is the reviewer's user name or `critic`.
    `score` is 0 to 100.
    """

    objective: str
    run_id: str
    attempt: int
    accepted: bool
    verdict: str
    score: float
    decided_by: str
    issues: list[dict[str, Any]]
    prompt: str
    answer: str


@overload
def reviewed_by(
    desk: Desk, *, objective: Read, answer: Read, into: str = "review", **task: Any
) -> Callable[[Any, RunnableConfig], dict[str, Decision]]: ...
@overload
def reviewed_by(
    desk: AsyncDesk, *, objective: Read, answer: Read, into: str = "review", **task: Any
) -> Callable[[Any, RunnableConfig], Any]: ...
def reviewed_by(
    desk: Desk | AsyncDesk,
    *,
    objective: Read,
    answer: Read,
    into: str = "review",
    **task: Any,
) -> Callable[[Any, RunnableConfig], Any]:
    """Return a node that submits an answer, interrupts the graph until it is decided, and sets `into` to a Decision.

    `objective` and `answer` are keys of the state, or functions of it. `task` has further fields of `submit_task`. With
    an AsyncDesk, the node is async.

    The task has `review="required"`: the reviewer's decision ends its run. If the critic sends the answer back, the
    node returns at once, without a reviewer. Resume the graph with `Command(resume=True)`. The node reads the decision
    from the server, not from the resume value; without a decision it interrupts the graph again. The answer after one
    was sent back is the next attempt of the same run, as many as `limits` allow.

    Raises DeskError if the run ended without an attempt, and StillGoing if the answer is not judged within 600 seconds.
    """
    node = Node(desk.sender, objective, answer, into, {"mode": "actor_critic", "review": "required", **task})
    if isinstance(desk, AsyncDesk):

        async def ask_reviewer_async(state: Any, config: RunnableConfig) -> dict[str, Decision]:
            return {into: await desk.carry_out(node.decision(state, config))}

        return ask_reviewer_async

    def ask_reviewer(state: Any, config: RunnableConfig) -> dict[str, Decision]:
        return {into: desk.carry_out(node.decision(state, config))}

    return ask_reviewer


@dataclass(frozen=True)
class Node:
    """The node's logic. LangGraph restarts a node after each resume, so every step first checks the server's state."""

    sender: Sender
    objective: Read
    answer: Read
    into: str
    task: Mapping[str, Any]

    def decision(self, state: Any, config: RunnableConfig) -> Steps[Decision]:
        """Return the decision on the state's answer. Without one, LangGraph's `interrupt` raises."""
        # Equal for all restarts of this visit to the node, and different for the next visit.
        here = config.get("configurable", {})
        place = f"langgraph-{uuid5(NAMESPACE_OID, f'{here.get("thread_id")} {here.get("checkpoint_ns")}')}"
        objective = _read(state, self.objective)
        run, number = yield from self._run(state, objective, place)
        if run.attempts < number:
            attempt = work.hand_in_attempt(
                run.id,
                _read(state, self.answer),
                attempt=number,
                wait_s=work.LONGEST_WAIT_S,
                idempotency_key=f"{place}:attempt",
            )
            yield from self.sender.send(attempt)
        run = yield from self._settled(run, number)
        review = yield from self._decided_review(run, number)
        by = review.decision.decided_by if review is not None and review.decision is not None else "critic"
        if run.next is not None:
            verdict = run.next.verdict or LastVerdict(verdict="REVISE", score=0, issues=[])
            return _decision(run, number, objective, verdict=verdict, by=by, prompt=run.next.prompt)
        if run.best_attempt is None:
            raise DeskError(f"run {run.id} ended as {run.outcome}: {run.error or 'no attempt'}")
        return _decision(run, number, objective, verdict=_last_verdict(run, review), by=by)

    def _run(self, state: Any, objective: str, place: str) -> Steps[tuple[Run, int]]:
        """Return the run, and the number of its attempt that the state's answer is."""
        before: Decision | None = _value(state, self.into)
        # A decision about another objective belongs to an earlier task of the same thread.
        if before and before["prompt"] and before["objective"] == objective:
            run = yield from self.sender.send(work.get_run(before["run_id"]))
            number = before["attempt"] + 1
            if run.attempts >= number or (run.next is not None and run.next.attempt == number):
                return run, number
        known = yield from self.sender.send(work.list_tasks(external_id=place, limit=1))
        if known.results:
            task = known.results[0]
        else:
            submission = work.submit_task(
                objective,
                execution="external",
                external_id=place,
                idempotency_key=f"{place}:task",
                **self.task,
            )
            task = yield from self.sender.send(submission)
        if task.run is None:
            raise DeskError(f"task {task.id} has no run")
        run = yield from self.sender.wait_for_run(task.run.id, timeout_s=600.0, until=lambda run: run.is_waiting)
        return run, 1

    def _settled(self, run: Run, number: int) -> Steps[Run]:
        """Return the run once the attempt is judged. While it waits for a reviewer, interrupt the graph."""
        while True:
            run = yield from self.sender.wait_for_run(
                run.id, timeout_s=600.0, until=lambda run: run.is_waiting and run.attempts >= number
            )
            if run.state != "waiting_review":
                return run
            waiting = yield from self.sender.send(reviews.list_reviews(run=run.id))
            open_ids = [str(one.id) for one in waiting.results if one.is_open]
            waits_for = {"run_id": str(run.id), "waiting_for": run.waiting_for, "reviews": open_ids}
            yield Invoke(partial(interrupt, waits_for))

    def _decided_review(self, run: Run, number: int) -> Steps[Review | None]:
        """Return the newest decided review of the attempt or, if the run has ended, of its best attempt."""
        numbers = {number}
        if run.is_finished and (best := run.best_attempt) is not None:
            numbers.add(best.edited_from or best.number)
        found = yield from self.sender.send(reviews.list_reviews(run=run.id))
        return next((one for one in found.results if one.attempt.number in numbers and one.decision is not None), None)


def _read(state: Any, what: Read) -> str:
    if callable(what):
        return what(state)
    return str(_value(state, what))


def _value(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _decision(run: Run, number: int, objective: str, *, verdict: LastVerdict, by: str, prompt: str = "") -> Decision:
    return Decision(
        objective=objective,
        run_id=str(run.id),
        attempt=number,
        accepted=run.outcome == "succeeded",
        verdict=verdict.verdict,
        score=verdict.score,
        decided_by=by,
        issues=[issue.model_dump(mode="json") for issue in verdict.issues],
        prompt=prompt,
        answer=run.best_attempt.content if run.is_finished and run.best_attempt is not None else "",
    )


def _last_verdict(run: Run, review: Review | None) -> LastVerdict:
    """Return the verdict of an ended run: the score of its best attempt, and the issues if it was not accepted."""
    score = run.best_attempt.score if run.best_attempt is not None else None
    if run.outcome == "succeeded":
        return LastVerdict(verdict="PASS", score=score or 0, issues=[])
    decided = review.decision.verdict if review is not None and review.decision is not None else None
    issues = decided.issues if decided is not None else []
    return LastVerdict(verdict="REJECT" if run.outcome == "rejected" else "REVISE", score=score or 0, issues=issues)
