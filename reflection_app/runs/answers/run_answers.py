"""Runs as REST tells them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, Money, PageAnswer, money
from reflection_app.loops.ends import Outcome
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Referee
from reflection_app.runs.models.attempt import VOID, Verdict
from reflection_app.runs.models.run import Run, RunState

# In its own words, since putting them together takes Django a tenth of an answer's time.
FORKS = """
ARRAY(SELECT id FROM reflection_app_run fork WHERE parent_id = reflection_app_run.id ORDER BY created_at, id)
"""
SHOWN = (
    "project_id",
    "task_id",
    "mode",
    "state",
    "outcome",
    "waiting_for",
    "error",
    "best_attempt__number",
    "best_attempt__content",
    "best_attempt__is_cut_off",
    "attempts_made",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "llm_calls",
    "estimated_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "unpriced_calls",
    "unmetered_calls",
    "parent_id",
    "forked_from_step",
    "fork_note",
    "forked_by_label",
    "created_at",
    "started_at",
    "not_before",
    "finished_at",
)


class BestAttempt(Answer):
    """The attempt that the run keeps, with its score from the strongest referee that judged it."""

    number: int
    content: str
    cut_off: bool = Field(description="whether it is the beginning of an answer that never came to its end")
    score: float | None
    referee: str | None = Field(description="who gave the score", examples=["tests"])


class Usage(Answer):
    """What the run has taken. What is not known is null, or told by how many calls it is missing of; never 0."""

    prompt_tokens: int
    completion_tokens: int
    estimated_tokens: int = Field(description="of both, those that no provider told and that the desk counted itself")
    cached_tokens: int | None = Field(
        description="of the prompts', those read from a cache; null where nobody told any"
    )
    reasoning_tokens: int | None = Field(description="of the answers', those of thinking; null where nobody told any")
    cost_usd: Money | None = Field(description="null where the cost of some call is not known")
    known_cost_usd: Money = Field(description="what is known of it: it cost at least this")
    llm_calls: int
    unpriced_calls: int = Field(description="model calls, and handed-in attempts, whose cost is not known")
    unmetered_calls: int = Field(
        description="handed-in attempts that came without `usage`: their tokens are not counted"
    )


class RunAnswer(Answer):
    """One execution of a loop on a task."""

    id: UUID
    task_id: UUID
    mode: Mode
    state: RunState
    outcome: Outcome | None = Field(description="null until the run has finished")
    waiting_for: str | None = Field(description="what the run waits for, in the waiting states, or why it is put off")
    waits_until: AwareDatetime | None = Field(description="when it goes on by itself, where it waits or is put off")
    error: str | None = Field(description="why it failed, or why what it keeps is unverified where that is known")
    best_attempt: BestAttempt | None = Field(description="null until the run has finished")
    attempts: int = Field(description="how many attempts were made so far")
    usage: Usage
    parent_id: UUID | None
    forked_from_step: int | None = Field(description="the first step that is not, or not unedited, the parent's")
    fork_note: str | None = Field(description="why it was forked, and where else than asked")
    forked_by: str | None
    forks: list[UUID] = Field(description="the runs that were forked from this one, oldest first")
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class RunPage(PageAnswer):
    results: list[RunAnswer]


def runs_to_show(runs: QuerySet[Run]) -> QuerySet[Run]:
    """`runs` with what an answer needs of other tables, without the specification, which may be large."""
    annotated = runs.annotate(fork_ids=RawSQL(FORKS, ()))  # noqa: S611 - no values in it
    return annotated.select_related("best_attempt").defer("spec", "edited_prompts")


def runs_to_list(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The same with nothing that their answers do not show: a page has up to hundreds, and columns take time by row."""
    return runs_to_show(runs).only(*SHOWN)


def run_answers(runs: Sequence[Run]) -> list[RunAnswer]:
    """The answers of `runs`, with one query more for all of them together."""
    decisive = decisive_scores(run.best_attempt_id for run in runs if run.best_attempt_id)
    forks = _forks_of([run for run in runs if not hasattr(run, "fork_ids")])
    return [_run_answer(run, decisive=decisive, forks=getattr(run, "fork_ids", forks.get(run.pk, []))) for run in runs]


def run_answer(run: Run) -> RunAnswer:
    return run_answers([run])[0]


def _forks_of(runs: Sequence[Run]) -> dict[UUID, list[UUID]]:
    """The forks of runs that were not read by `runs_to_show`; none are looked for where a run has just begun."""
    forks = defaultdict[UUID, list[UUID]](list)
    wanted = [run.pk for run in runs if run.last_event_seq > 1]
    if wanted:
        found = Run.objects.filter(parent__in=wanted).order_by("created_at", "id")
        for parent_id, run_id in found.values_list("parent_id", "pk"):
            forks[parent_id].append(run_id)
    return forks


def decisive_scores(attempts: Iterable[UUID]) -> dict[UUID, tuple[float, str]]:
    """Score and referee by attempt: the strongest referee's, of two equally strong the later one's."""
    wanted = list(attempts)
    if not wanted:
        return {}
    judged = Verdict.objects.filter(attempt_id__in=wanted).exclude(VOID)
    weakest_first = judged.order_by("referee", "created_at", "id")
    return {
        attempt_id: (score, Referee(referee).label)
        for attempt_id, score, referee in weakest_first.values_list("attempt_id", "score", "referee")
    }


def _run_answer(run: Run, *, decisive: dict[UUID, tuple[float, str]], forks: list[UUID]) -> RunAnswer:
    best = None
    if run.best_attempt is not None:
        score, referee = decisive.get(run.best_attempt.pk, (None, None))
        best = BestAttempt(
            number=run.best_attempt.number,
            content=run.best_attempt.content,
            cut_off=run.best_attempt.is_cut_off,
            score=score,
            referee=referee,
        )
    return RunAnswer(
        id=run.pk,
        task_id=run.task_id,
        mode=Mode(run.mode),
        state=RunState(run.state),
        outcome=Outcome(run.outcome) if run.outcome else None,
        waiting_for=run.waiting_for or None,
        waits_until=run.not_before,
        error=run.error or None,
        best_attempt=best,
        attempts=run.attempts_made,
        usage=Usage(
            prompt_tokens=run.prompt_tokens,
            completion_tokens=run.completion_tokens,
            estimated_tokens=run.estimated_tokens,
            cached_tokens=run.cached_tokens,
            reasoning_tokens=run.reasoning_tokens,
            cost_usd=None if run.unpriced_calls else money(run.cost_usd),
            known_cost_usd=money(run.cost_usd),
            llm_calls=run.llm_calls,
            unpriced_calls=run.unpriced_calls,
            unmetered_calls=run.unmetered_calls,
        ),
        parent_id=run.parent_id,
        forked_from_step=run.forked_from_step,
        fork_note=run.fork_note or None,
        forked_by=run.forked_by_label or None,
        forks=forks,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
