"""What the database tells of supplements that were carried out before."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.completeness.estimates import Basis, SupplementHistory
from reflection_app.loops.effects import EstimateSupplements
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.repairs.supplement_history import estimate_supplements
from reflection_app.runs.models import Run, Step
from tests.factories import make_project, submit
from tests.repairs.past_supplements import past_supplement

pytestmark = pytest.mark.django_db


def history(
    project: Project, operation: str = "读取第二个文件", *tools: str, kind: str = "compare"
) -> SupplementHistory:
    """What a fresh run of the project is told of one supplement."""
    effect = EstimateSupplements(key="k", operations=(operation,), tools=(tools or ("read_file",),))
    [found] = estimate_supplements(effect, run_id=submit(project, kind=kind).pk).value.supplements
    assert isinstance(found, SupplementHistory)
    return found


def by_basis(found: SupplementHistory) -> dict[Basis, Any]:
    return {one.basis: one for one in found.completed}


def test_nothing_is_told_where_nothing_was_done() -> None:
    assert history(make_project("empty")) == SupplementHistory()


def test_a_history_is_told_from_the_nearest_to_the_farthest() -> None:
    project = make_project("near")
    for tokens in (800, 1_000, 1_800):
        past_supplement(project, tokens=tokens)
    past_supplement(project, "Read the appendix", completed=False)
    past_supplement(project, "Send a mail", tools=("mail",), completed=False)
    past_supplement(project, "读取第二个文件", kind="other", completed=False)
    past_supplement(make_project("another"), completed=False)

    found = history(project)
    assert [one.basis for one in found.costs] == [
        Basis.SAME,
        Basis.KIND,
        Basis.TOOL,
        Basis.ANY_OF_KIND,
        Basis.PROJECT,
    ]
    same = found.costs[0]
    assert (same.count, same.tokens.middle, same.tokens.low, same.tokens.high) == (3, 1_000, 900, 1_400)
    assert same.cost_usd is not None
    assert same.seconds is not None
    assert (same.cost_usd.middle, same.seconds.middle) == (Decimal("0.002"), 3)
    told = by_basis(found)
    assert [(told[basis].completed, told[basis].runs) for basis in told] == [(3, 3), (3, 4), (3, 5), (3, 5), (3, 6)]
    assert (told[Basis.SAME].high, round(told[Basis.SAME].low, 2)) == (1, 0.44)


def test_what_says_the_same_in_other_words_is_the_same() -> None:
    project = make_project("words")
    past_supplement(project, "Save the list of papers to a file")
    assert Basis.SAME in by_basis(history(project, "Please save the papers list to the file"))
    assert Basis.SAME not in by_basis(history(project, "Translate the summary into French"))


def test_prices_that_are_not_known_are_none_and_not_nothing() -> None:
    project = make_project("unpriced")
    for _ in range(2):
        past_supplement(project, cost_known=False, cost_usd=Decimal(0))
    old = past_supplement(project, seconds=None, cost_usd=Decimal(0))
    Run.objects.filter(pk=old.completeness_check.run_id).update(unpriced_calls=1)
    assert {one.cost_usd for one in history(project).costs} == {None}
    for _ in range(3):
        past_supplement(project)
    same = history(project).costs[0].cost_usd
    assert same is not None
    assert same.middle == Decimal("0.002")


def test_old_ones_forks_and_those_that_were_not_begun_are_no_evidence() -> None:
    project = make_project("none")
    past_supplement(project, days_ago=200)
    past_supplement(project, attempted=False, tokens=0)
    past_supplement(project, attempted=None, tokens=0)
    fork = past_supplement(project)
    parent = submit(project)
    Run.objects.filter(pk=fork.completeness_check.run_id).update(parent=parent)
    assert history(project) == SupplementHistory()
    past_supplement(project, attempted=False, completed=False)
    assert history(project).completed[0].completed == 0, "a plan that could not be made was paid for"


def test_a_runs_own_supplements_are_no_evidence_for_it() -> None:
    project = make_project("own")
    one = past_supplement(project)
    effect = EstimateSupplements(key="k", operations=(one.operation,), tools=(("read_file",),))
    own = CompletenessCheck.objects.get(pk=one.completeness_check_id).run_id
    assert estimate_supplements(effect, run_id=own).value.supplements == (SupplementHistory(),)


def test_one_that_worked_is_not_worth_less_because_another_was_left_out() -> None:
    project = make_project("alone")
    past_supplement(project)
    alone = past_supplement(project, completed=False, succeeded=True)
    dropped = [{"operation": "x", "code": "below_worth", "parameters": {}}]
    CompletenessCheck.objects.filter(pk=alone.completeness_check_id).update(dropped=dropped)
    told = history(project)
    assert [(one.completed, one.runs) for one in told.completed[:1]] == [(1, 1)]
    assert told.costs[0].count == 2, "what it cost is known all the same"
    CompletenessCheck.objects.filter(pk=alone.completeness_check_id).update(
        dropped=[{"operation": "x", "code": "unrelated"}, {"operation": "y", "why": "It was suggested twice."}]
    )
    assert history(project).completed[0].runs == 2


def planned_step(project: Project, tool: str, tokens: int) -> None:
    """A run that made a plan and carried out a step of it with a tool."""
    run = submit(project, kind="compare")
    Run.objects.filter(pk=run.pk).update(mode="planning")
    common = {"run": run, "state": "done", "started_at": timezone.now(), "duration_s": 1.0}
    Step.objects.create(
        **common, seq=1, key="attempt-1/plan/make", kind="generate", role="planner", request={}, prompt_tokens=600
    )
    arguments = "attempt-1/step-1/arguments"
    Step.objects.create(**common, seq=2, key=arguments, kind="generate", role="actor", request={}, prompt_tokens=tokens)
    again = f"{arguments}/again-1"
    Step.objects.create(**common, seq=3, key=again, kind="generate", role="actor", request={}, completion_tokens=50)
    Step.objects.create(**common, seq=4, key="attempt-1/step-1/call", kind="call_tool", request={"tool": tool})
    answer = "attempt-1/step-2/answer"
    Step.objects.create(**common, seq=5, key=answer, kind="generate", role="actor", request={}, prompt_tokens=9_000)


def test_calls_of_the_tool_in_plans_tell_where_too_few_supplements_do() -> None:
    project = make_project("plans")
    for tokens in (100, 200, 300):
        planned_step(project, "read_file", tokens)
    planned_step(project, "mail", 70_000)
    [calls] = history(project).costs
    assert (calls.basis, calls.count) == (Basis.CALLS, 3)
    assert calls.tokens.middle == 200 + 50 + 600, "its arguments, asked again, and the plan that it needs"
    assert calls.seconds is not None
    assert calls.seconds.middle == 4
    assert history(project).completed == (), "calls in plans say nothing of what a supplement is worth"
    for _ in range(5):
        past_supplement(project)
    assert Basis.CALLS not in {one.basis for one in history(project).costs}


def test_the_database_is_asked_as_often_for_many_as_for_one() -> None:
    project = make_project("often")
    run = submit(project, kind="compare")

    def asked(many: int) -> int:
        operations = tuple(f"operation {number}" for number in range(many))
        effect = EstimateSupplements(key="k", operations=operations, tools=(("read_file",),) * many)
        with CaptureQueriesContext(connection) as queries:
            estimate_supplements(effect, run_id=run.pk)
        return len(queries)

    few = asked(1)
    for _ in range(20):
        past_supplement(project)
    assert asked(10) <= few
