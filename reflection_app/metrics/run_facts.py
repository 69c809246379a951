"""What one finished run counts for, from what is recorded of it. Pure.

A run that is not counted (a fork, a redo, what the desk does about other work) has what it took, and the checks in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from uuid import UUID

from django.db import connection

from reflection_app.loops.attempts import first_attempt_failed, first_attempt_succeeded
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.progress import strongest_judgements
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.metrics.definitions import Sums
from reflection_app.metrics.models import RunSpend
from reflection_app.repairs.models import Report, ToolFailure
from reflection_app.runs.models import Attempt, Verdict

# Loops whose limit of iterations is one of attempts.
MAKING_ATTEMPTS = frozenset(
    {
        Mode.ADAPTIVE.value,
        Mode.EXTERNAL_LOOP.value,
        Mode.ACTOR_CRITIC.value,
        Mode.REFLEXION.value,
        Mode.PLANNING.value,
        Mode.REFLECTION_PROTOCOL.value,
    }
)
# Whose model calls evaluate an attempt or reflect on it. The diagnosis of a failed call is neither.
REFLECTING = frozenset({"critic", "self", "tester", "reflector"})
# The role of the outside agent, which may say what its attempts took.
AGENT = "agent"


@dataclass(frozen=True)
class Check:
    """A completeness check. The statistics are those of the whole run up to then; None where nothing was executed."""

    state: CheckState
    supplements: int = 0
    used: bool = False
    attempted: int | None = None
    succeeded: int | None = None


@dataclass(frozen=True)
class Recorded:
    """A finished run. `judgements` are in the order in which they were given; `attempts` are all numbers made.

    `reflected_on` are the attempts that a reflector looked at, `reflection_tokens` those of the roles in REFLECTING,
    about attempts; `total` is what the run was charged.
    """

    mode: str
    outcome: Outcome
    is_counted: bool
    max_iterations: int
    attempts: Sequence[int] = ()
    kept: int | None = None
    judgements: Sequence[Judgement] = ()
    reflected_on: frozenset[int] = frozenset()
    cycle_ms: int = 0
    reflection_tokens: int = 0
    checks: Sequence[Check] = ()
    took: Sequence[RunSpend] = ()
    total: RunSpend = field(default_factory=RunSpend)

    @cached_property
    def spend(self) -> list[RunSpend]:
        """What was taken by role and model, with what was charged for steps that are in no journal any more."""
        rest = RunSpend(
            calls=max(0, self.total.calls - sum(one.calls for one in self.took if one.role != AGENT)),
            prompt_tokens=max(0, self.total.prompt_tokens - sum(one.prompt_tokens for one in self.took)),
            completion_tokens=max(0, self.total.completion_tokens - sum(one.completion_tokens for one in self.took)),
            cost_usd=max(Decimal(0), self.total.cost_usd - sum((one.cost_usd for one in self.took), Decimal(0))),
        )
        # Calls alone are tries that no answer came of.
        was_paid = bool(rest.prompt_tokens or rest.completion_tokens or rest.cost_usd)
        return [*self.took, *([rest] if was_paid else [])]


def sums_of(run: Recorded) -> Sums:
    """The run as sums over it alone."""
    spend = run.spend
    sums = Sums(
        prompt_tokens=sum(one.prompt_tokens for one in spend),
        completion_tokens=sum(one.completion_tokens for one in spend),
        cost_usd=sum((one.cost_usd for one in spend), Decimal(0)),
        llm_calls=sum(one.calls for one in spend if one.role != AGENT),
        unpriced_calls=sum(one.unpriced_calls for one in spend),
    )
    sums.update(_of_checks(run))
    if not run.is_counted:
        return sums
    made, succeeded = len(run.attempts), has_succeeded(run)
    first = first_attempt_succeeded(run.judgements, outcome=run.outcome, kept=run.kept, made=made)
    sums.update(
        runs=1,
        succeeded=int(succeeded),
        told=int(first is not None),
        first_succeeded=int(first is True),
        counted_cost_usd=sums["cost_usd"],
        counted_unpriced_calls=sums["unpriced_calls"],
    )
    if allows_a_second_attempt(run):
        failed_first = first_attempt_failed(run.judgements, kept=run.kept, made=made)
        sums.update(
            enabled=1,
            enabled_first_succeeded=int(first is True),
            enabled_first_failed=int(failed_first),
            enabled_succeeded=int(succeeded),
            improved=int(failed_first and succeeded),
        )
    if made:
        sums.update(
            attempted=1,
            attempts=made,
            attempted_succeeded=int(succeeded),
            attempts_to_success=made if succeeded else 0,
            cycle_ms=run.cycle_ms,
        )
    decisive = strongest_judgements(run.judgements)
    numbers = set(run.attempts)
    reflected = {number for number in numbers if number + 1 in numbers or number in run.reflected_on}
    scores = [decisive[number].score for number in sorted(numbers) if number in decisive]
    is_scored_twice = len(scores) > 1
    sums.update(
        reflections=len(reflected),
        effective=sum(_is_effective(decisive, number) for number in reflected),
        reflection_tokens=run.reflection_tokens,
        scored_twice=int(is_scored_twice),
        over_corrected=int(is_scored_twice and scores[-1] < max(scores)),
        passed_lowered=int(succeeded and has_passed_lowered(run)),
    )
    return sums


def _of_checks(run: Recorded) -> Sums:
    checks, carries_out = run.checks, run.mode != Mode.COMPLETENESS_CHECK.value
    supplemented = sum(check.state is CheckState.SUPPLEMENTED for check in checks)
    incomplete = supplemented + sum(check.state is CheckState.INCOMPLETE for check in checks)
    # Each check has the statistics of its run up to then, so the most are those of all.
    return Sums(
        checked=int(bool(checks)),
        checks_complete=sum(check.state is CheckState.COMPLETE for check in checks),
        checks_incomplete=incomplete,
        checks_supplementable=incomplete if carries_out else 0,
        checks_supplemented=supplemented if carries_out else 0,
        supplements=sum(check.supplements for check in checks),
        exec_used=int(any(check.used for check in checks)),
        exec_attempted=max((check.attempted or 0 for check in checks), default=0),
        exec_succeeded=max((check.succeeded or 0 for check in checks), default=0),
    )


def has_succeeded(run: Recorded) -> bool:
    """Whether the run succeeded in the end. A person's last word on the attempt that is kept stands above its outcome,
    also where it came after the end."""
    said = [one for one in run.judgements if one.attempt == run.kept and one.referee is Referee.PERSON]
    return said[-1].passed if said else run.outcome is Outcome.SUCCEEDED


def has_passed_lowered(run: Recorded) -> bool:
    """Whether the attempt which is kept passed against a lowered expectation alone, whoever approved that."""
    return any(one.passed_lowered for one in run.judgements if one.attempt == run.kept)


def allows_a_second_attempt(run: Recorded) -> bool:
    return run.mode in MAKING_ATTEMPTS and run.max_iterations > 1


def most_used(models: Iterable[str]) -> str:
    """The model that made most of the attempts, of two the one that came first; empty where none did."""
    counts: dict[str, int] = {}
    for model in filter(None, models):
        counts[model] = counts.get(model, 0) + 1
    return max(counts, key=lambda model: counts[model], default="")


def _is_effective(decisive: Mapping[int, Judgement], number: int) -> bool:
    before, after = decisive.get(number), decisive.get(number + 1)
    if after is None:
        return False
    return after.passed or (before is not None and after.score > before.score)


# Which types of failure a run had: each counts once a run, so that a bar is as long as its list of runs.
#
# `class:` is the class of an error report, as a person corrected it where one did; `tool:` the type of a tool's
# failure; `issue:` the category of an issue, and `test:` why a test failed, of an attempt that the strongest referee
# did not pass.

# Of the verdicts on an attempt the strongest, of two equally strong the later one.
QUERY = """
WITH decisive AS (
  SELECT DISTINCT ON (verdict.attempt_id) attempt.run_id, verdict.verdict, verdict.issues, verdict.tests
  FROM {verdicts} verdict JOIN {attempts} attempt ON attempt.id = verdict.attempt_id
  WHERE attempt.run_id = ANY(%(runs)s)
  ORDER BY verdict.attempt_id, verdict.referee DESC, verdict.created_at DESC, verdict.id DESC
), failed AS (SELECT * FROM decisive WHERE verdict <> 'PASS')
SELECT run_id, 'issue:' || (jsonb_path_query(issues, '$[*].category') #>> '{{}}') FROM failed
UNION SELECT run_id, 'test:' || (jsonb_path_query(tests, '$.results[*] ? (@.passed == false).reason') #>> '{{}}')
  FROM failed WHERE tests IS NOT NULL
UNION SELECT run_id, 'class:' || coalesce(corrected_type, error_type) FROM {reports} WHERE run_id = ANY(%(runs)s)
UNION SELECT run_id, 'tool:' || error_type FROM {failures} WHERE run_id = ANY(%(runs)s) AND error_type <> ''
ORDER BY 1, 2
"""


def failures_of(run_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    """The types by run, in order; runs without a failure are left out."""
    tables = {"verdicts": Verdict, "attempts": Attempt, "reports": Report, "failures": ToolFailure}
    names = {name: connection.ops.quote_name(model._meta.db_table) for name, model in tables.items()}  # noqa: SLF001
    found: dict[UUID, tuple[str, ...]] = {}
    with connection.cursor() as cursor:
        cursor.execute(QUERY.format(**names), {"runs": list(run_ids)})
        for run_id, name in cursor.fetchall():
            if name is not None:
                found[run_id] = (*found.get(run_id, ()), name[:60])
    return found
