"""Runs as REST tells them."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, Money, PageAnswer, money
from reflection_app.loops.ends import Outcome
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Referee
from reflection_app.models import Run, RunState, Verdict


class BestAttempt(Answer):
    """The attempt that the run keeps, with its score from the strongest referee that judged it."""

    number: int
    content: str
    score: float | None
    referee: str | None = Field(description="who gave the score", examples=["tests"])


class Usage(Answer):
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Money
    llm_calls: int


class RunAnswer(Answer):
    """One execution of a loop on a task."""

    id: UUID
    task_id: UUID
    mode: Mode
    state: RunState
    outcome: Outcome | None = Field(description="null until the run has finished")
    waiting_for: str | None = Field(description="what the run waits for, in the waiting states")
    error: str | None
    best_attempt: BestAttempt | None = Field(description="null until the run has finished")
    attempts: int = Field(description="how many attempts were made so far")
    usage: Usage
    parent_id: UUID | None
    forked_from_step: int | None
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class RunPage(PageAnswer):
    results: list[RunAnswer]


def runs_to_show(runs: QuerySet[Run]) -> QuerySet[Run]:
    """`runs` with what an answer needs of other tables, without the specification, which may be large."""
    return runs.select_related("best_attempt").defer("spec")


def run_answers(runs: Sequence[Run]) -> list[RunAnswer]:
    """The answers of `runs`, with one query more for all of them together."""
    decisive = _decisive_scores(run.best_attempt_id for run in runs if run.best_attempt_id)
    return [_run_answer(run, decisive=decisive) for run in runs]


def run_answer(run: Run) -> RunAnswer:
    return run_answers([run])[0]


def _decisive_scores(attempts: Iterable[UUID]) -> dict[UUID, tuple[float, str]]:
    """Score and referee by attempt: the strongest referee's, of two equally strong the later one's."""
    wanted = list(attempts)
    if not wanted:
        return {}
    weakest_first = Verdict.objects.filter(attempt_id__in=wanted).order_by("referee", "created_at", "id")
    return {
        attempt_id: (score, Referee(referee).label)
        for attempt_id, score, referee in weakest_first.values_list("attempt_id", "score", "referee")
    }


def _run_answer(run: Run, *, decisive: dict[UUID, tuple[float, str]]) -> RunAnswer:
    best = None
    if run.best_attempt is not None:
        score, referee = decisive.get(run.best_attempt.pk, (None, None))
        best = BestAttempt(
            number=run.best_attempt.number, content=run.best_attempt.content, score=score, referee=referee
        )
    return RunAnswer(
        id=run.pk,
        task_id=run.task_id,
        mode=Mode(run.mode),
        state=RunState(run.state),
        outcome=Outcome(run.outcome) if run.outcome else None,
        waiting_for=run.waiting_for or None,
        error=run.error or None,
        best_attempt=best,
        attempts=run.attempts_made,
        usage=Usage(
            prompt_tokens=run.prompt_tokens,
            completion_tokens=run.completion_tokens,
            cost_usd=money(run.cost_usd),
            llm_calls=run.llm_calls,
        ),
        parent_id=run.parent_id,
        forked_from_step=run.forked_from_step,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
