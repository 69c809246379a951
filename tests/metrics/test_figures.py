"""The figures of runs: against values chosen by hand, against plain Python over rows, and of runs that really ran."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Sum

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from reflection_app.metrics.completeness_figures import completeness_figures
from reflection_app.metrics.definitions import DEFINITIONS, Chosen, Metrics
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.figuring import figure_due, figure_runs, rebuild
from reflection_app.metrics.models import SUMMED, RunFigure, RunSpend
from reflection_app.metrics.runs_behind import runs_behind
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs.models import Attempt, Run
from tests import given
from tests.metrics.recorded import Rows, begin, random_project
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = NOON.date()
BAD, GOOD = critique(40), critique(90, approved=True)
PASS, REVISE = Verdict.PASS, Verdict.REVISE
CRITIC, TESTS, PERSON = Referee.CRITIC, Referee.TESTS, Referee.PERSON


def on(since: date = DAY, until: date | None = None, **more: object) -> Chosen:
    return Chosen(since=since, until=until or since, **more)  # type: ignore[arg-type]


def figured(project: Project, chosen: Chosen | None = None) -> Metrics:
    while figure_due():
        pass
    return metrics_of(project.pk, chosen or on())


def values(metrics: Metrics) -> dict[str, float | None]:
    return {name: figure.value for name, figure in metrics.figures.items()}


def bars(metrics: Metrics, family: str) -> dict[str, int]:
    return {bar.key: bar.count for bar in metrics.bars[family]}


def two_attempts(rows: Rows, first: float, second: float, *, verdict: Verdict = PASS) -> Run:
    one = rows.attempt(1, model="m", prompt_tokens=10, duration_s=2.0)
    rows.call("attempt-1/critique", "critic", attempt=1, prompt_tokens=30, duration_s=1.0)
    rows.verdict(one, CRITIC, REVISE, first)
    two = rows.attempt(2, model="m", prompt_tokens=10, duration_s=2.0)
    rows.call("attempt-2/critique", "critic", attempt=2, prompt_tokens=50, duration_s=1.0)
    rows.verdict(two, CRITIC, verdict, second)
    best = two if second > first else one
    return rows.end(Outcome.SUCCEEDED if verdict is PASS else Outcome.EXHAUSTED, kept=best, at=NOON)


def test_a_project_with_known_values_has_just_those(project: Project) -> None:
    rows = begin(project)
    only = rows.attempt(1, model="m", prompt_tokens=100, completion_tokens=10, cost_usd=Decimal("0.25"), duration_s=4.0)
    rows.verdict(only, TESTS, PASS, 100)
    rows.end(Outcome.SUCCEEDED, kept=only, at=NOON)
    two_attempts(begin(project, agent="writer"), 40, 90)
    two_attempts(begin(project), 40, 20, verdict=REVISE)
    lone = begin(project, Mode.REFLEXION, max_iterations=1)
    lone.verdict(lone.attempt(1, model="m"), Referee.SELF, REVISE, 30)
    lone.end(Outcome.EXHAUSTED, kept=None, at=NOON)

    metrics = figured(project)
    assert {name: value for name, value in values(metrics).items() if value} == {
        "runs": 4,
        "success_rate": 0.5,
        "reflection_enabled_tasks": 3,
        "success_rate_without_reflection": 1 / 3,
        "success_rate_with_reflection": 2 / 3,
        "improvement_rate": 0.5,
        "success_on_first_try": 0.25,
        "total_reasoning_attempts": 6,
        "avg_iterations_per_task": 1.5,
        "avg_iterations_to_success": 1.5,
        "avg_latency_per_iteration_ms": (4000 + 6000 + 6000) / 6,
        "avg_tokens_per_reflection": 160 / 2,
        "reflection_effectiveness": 0.5,
        "over_correction_rate": 0.5,
        "tokens": 110 + 100 + 100,
        "cost_usd": 0.25,
        "cost_usd_per_success": 0.125,
    }
    assert bars(metrics, "attempts_to_success") == {"1": 1, "2": 1}
    assert bars(metrics, "modes") == {"actor_critic": 3, "reflexion": 1}
    assert bars(metrics, "agents") == {"": 3, "writer": 1}
    assert bars(metrics, "outcomes") == {"exhausted": 2, "succeeded": 2}
    assert bars(metrics, "failures") == {"issue:format": 3}
    assert [(one.role, one.calls, one.prompt_tokens, one.cost_usd) for one in metrics.spend] == [
        ("actor", 6, 140, Decimal("0.25")),
        ("critic", 4, 160, 0),
    ]
    assert [task.tokens for task in metrics.dearest_tasks] == [110, 100, 100]
    assert metrics.choices == {
        "agents": ("writer",),
        "modes": ("actor_critic", "reflexion"),
        "models": ("m",),
        "kinds": (),
    }


def test_a_share_has_its_interval_and_what_it_is_of(project: Project) -> None:
    for _ in range(10):
        two_attempts(begin(project), 40, 90)
    share = figured(project).figures["improvement_rate"]
    assert (share.value, share.of, share.high) == (1.0, 10, 1.0)
    # Wilson's lower bound of ten of ten.
    assert share.low == pytest.approx(0.7225, abs=1e-4)


def test_forks_redos_and_what_the_desk_does_count_for_what_they_took_alone(project: Project) -> None:
    first = two_attempts(begin(project), 40, 90)
    before = values(figured(project))
    fork = begin(project, task=first.task, parent=first, forked_from_step=2)
    made = fork.attempt(1, model="m", prompt_tokens=7)
    fork.step("attempt-1/critique", "generate", role="critic", is_inherited=True, prompt_tokens=999)
    fork.verdict(made, CRITIC, REVISE, 10)
    fork.end(Outcome.EXHAUSTED, kept=made, at=NOON)
    Run.objects.filter(pk=first.pk).update(last_event_seq=9)
    desk = begin(project, Mode.ERROR_REFLECTION)
    desk.call("turn-1", "error_reflector", prompt_tokens=5)
    desk.end(Outcome.SUCCEEDED, kept=None, at=NOON)
    metrics = figured(project)
    changed = {name for name, value in values(metrics).items() if value != before[name]}
    assert changed == {"tokens"}
    assert metrics.figures["tokens"].value == 100 + 7 + 5
    assert {one.role: one.prompt_tokens for one in metrics.spend} == {"actor": 27, "critic": 80, "error_reflector": 5}
    assert [(task.task_id, task.tokens) for task in metrics.dearest_tasks] == [
        (str(first.task_id), 107),
        (str(desk.run.task_id), 5),
    ]
    assert set(runs_behind(project.pk, on(), "runs")) == {first}


@pytest.mark.parametrize("mode", [Mode.COMPLETENESS_CHECK, Mode.MERGE_SUGGESTION])
def test_only_runs_that_solve_tasks_count_in_rates_and_in_what_a_success_costs(mode: Mode, project: Project) -> None:
    rows = begin(project)
    made = rows.attempt(1, cost_usd=Decimal("0.25"))
    rows.verdict(made, TESTS, PASS, 100)
    solved = rows.end(Outcome.SUCCEEDED, kept=made, at=NOON)
    failed = two_attempts(begin(project), 40, 20, verdict=REVISE)
    before = values(figured(project))
    desks = begin(project, mode)
    desks.call("answer", "diagnoser", cost_usd=Decimal("0.5"))
    desks.end(Outcome.SUCCEEDED, kept=None, at=NOON)

    metrics = figured(project)
    told = values(metrics)
    assert {name for name, value in told.items() if value != before[name]} == {"cost_usd"}
    assert (told["success_rate"], told["cost_usd_per_success"], told["cost_usd"]) == (0.5, 0.25, 0.75)
    assert bars(metrics, "modes") == {"actor_critic": 2}
    for name in ("runs", "success_rate", "cost_usd_per_success"):
        assert set(runs_behind(project.pk, on(), name)) == {solved, failed}
        assert set(runs_behind(project.pk, on(), name, "no")) == ({failed} if name != "runs" else set())
    assert not runs_behind(project.pk, on(), "modes", mode.value).exists()


def test_a_check_that_was_asked_for_alone_counts_among_the_checks(project: Project) -> None:
    rows = begin(project, Mode.COMPLETENESS_CHECK)
    step = rows.step("check-1", "record_completeness", attempt_number=1)
    CompletenessCheck.objects.create(project=project, run=rows.run, step=step, state="incomplete")
    rows.end(Outcome.SUCCEEDED, kept=None, at=NOON)
    told = values(figured(project))
    assert (told["found_incomplete"], told["runs"]) == (1.0, 0)


def test_what_failed_first_and_ended_unverified_is_not_known_to_be_mended(project: Project) -> None:
    two_attempts(begin(project), 40, 90)
    for first in (REVISE, PASS):
        rows = begin(project)
        one = rows.attempt(1)
        rows.verdict(one, CRITIC, first, 90 if first is PASS else 40)
        if first is REVISE:
            rows.verdict(rows.attempt(2), CRITIC, PASS, 90)
        rows.end(
            Outcome.UNVERIFIED, kept=one if first is PASS else Attempt.objects.get(run=rows.run, number=2), at=NOON
        )
    rate = figured(project).figures["improvement_rate"]
    assert (rate.value, rate.of) == (0.5, 2)
    assert runs_behind(project.pk, on(), "improvement_rate").count() == 2
    # Whether it succeeded at once is told of neither: nothing that counts has judged them.
    assert metrics_of(project.pk, on()).figures["success_on_first_try"].of == 1


def test_scripted_runs_are_figures_of_their_own(project: Project) -> None:
    real, scripted = two_attempts(begin(project), 40, 90), two_attempts(begin(project, is_scripted=True), 40, 20)
    assert figured(project).figures["runs"].value == 1
    assert set(runs_behind(project.pk, on(), "runs")) == {real}
    assert metrics_of(project.pk, on(scripted=True)).figures["reflection_effectiveness"].value == 1.0
    assert set(runs_behind(project.pk, on(scripted=True), "runs")) == {scripted}


def test_a_persons_word_after_the_end_stands_above_the_outcome(project: Project) -> None:
    rows = begin(project)
    made = rows.attempt(1)
    rows.verdict(made, CRITIC, PASS, 90)
    run = rows.end(Outcome.SUCCEEDED, kept=made, at=NOON)
    assert values(figured(project))["success_rate_without_reflection"] == 1.0
    made.verdicts.create(referee=PERSON.value, verdict=REVISE.value, score=20)
    run.last_event_seq += 1
    run.save(update_fields=["last_event_seq"])
    told = values(figured(project))
    assert (told["success_rate_without_reflection"], told["success_rate_with_reflection"]) == (0.0, 0.0)


def test_what_was_taken_back_was_paid_all_the_same(project: Project) -> None:
    rows = begin(project)
    made = rows.attempt(1, prompt_tokens=10, cost_usd=Decimal("0.1"))
    rows.run.prompt_tokens, rows.run.cost_usd = 25, Decimal("0.3")
    rows.end(Outcome.EXHAUSTED, kept=made, at=NOON)
    metrics = figured(project)
    assert {one.role: (one.prompt_tokens, one.cost_usd) for one in metrics.spend} == {
        "actor": (10, Decimal("0.1")),
        "": (15, Decimal("0.2")),
    }
    assert (metrics.figures["tokens"].value, metrics.figures["cost_usd"].value) == (25, 0.3)


def test_days_are_those_of_utc_and_both_ends_belong_to_the_period(project: Project) -> None:
    first = datetime(2026, 3, 4, 0, 0, tzinfo=UTC)
    for at in (first - timedelta(microseconds=1), first, first + timedelta(days=1, microseconds=-1)):
        rows = begin(project)
        rows.end(Outcome.CANCELLED, kept=None, at=at)
    metrics = figured(project)
    assert (metrics.figures["runs"].value, metrics.before["runs"].value) == (2, 1)
    assert [(point.start, point.figures["runs"].value) for point in metrics.points] == [("2026-03-04", 2)]
    assert runs_behind(project.pk, on(), "outcomes", "cancelled").count() == 2


@pytest.mark.parametrize("days", [2, 120])
def test_the_points_add_up_to_the_figures(days: int, project: Project) -> None:
    random_project(project, runs=25, seed=days, until=NOON, days=days)
    chosen = on(DAY - timedelta(days=days - 1), DAY)
    metrics = figured(project, chosen)
    assert sum(point.figures["runs"].value or 0 for point in metrics.points) == metrics.figures["runs"].value
    assert sum(point.figures["tokens"].value or 0 for point in metrics.points) == metrics.figures["tokens"].value
    assert len(metrics.points) == {120: 18}.get(days, days)
    assert metrics.points[0].start == chosen.since.isoformat()


def checked_run(project: Project, mode: Mode, state: str) -> None:
    rows = begin(project, mode)
    step = rows.step("check", "record_completeness", attempt_number=1)
    CompletenessCheck.objects.create(project=project, run=rows.run, step=step, attempt_number=1, state=state)
    rows.end(Outcome.SUCCEEDED, kept=None, at=NOON)


def test_checks_that_carry_nothing_out_are_no_failed_supplements(project: Project) -> None:
    for _ in range(4):
        checked_run(project, Mode.COMPLETENESS_CHECK, "incomplete")
    for state in ("completed_by_supplement", "incomplete", "incomplete", "complete"):
        checked_run(project, Mode.PLANNING, state)
    found = figured(project, on()).figures["completed_by_supplement"]
    assert found.value == pytest.approx(1 / 3)
    assert found.of == 3
    assert completeness_figures(project.pk).share_supplemented == pytest.approx(1 / 3)


@pytest.mark.exhaustive("against another computation, over many drawn cases")
@pytest.mark.parametrize("seed", range(3))
def test_sums_by_day_are_those_of_the_runs_also_when_made_anew_and_after_changes(seed: int, project: Project) -> None:
    made = random_project(project, runs=30, seed=100 + seed, until=NOON, days=3)
    while figure_due(at_most=7):
        pass
    assert sums(project) == raw(project)
    for run in made[::4]:
        Run.objects.filter(pk=run.pk).update(state="queued", outcome=None, finished_at=None)
    for run in made[1::4]:
        Run.objects.filter(pk=run.pk).update(outcome="succeeded", finished_at=NOON, last_event_seq=99)
    while figure_due():
        pass
    assert sums(project) == raw(project)
    kept = every_sum(project)
    RunFigure.objects.filter(run=made[1]).update(runs=5)
    call_command("rebuild_metrics", project=project.slug)
    assert every_sum(project) == kept


def sums(project: Project) -> list[tuple[object, ...]]:
    rows = RunFigure.objects.filter(project=project).order_by("finished_on", "is_scripted")
    summed = rows.values_list("finished_on", "is_scripted").annotate(*map(Sum, SUMMED))
    return [tuple(row) for row in summed]


def raw(project: Project) -> list[tuple[object, ...]]:
    """By plain Python from the figures of the runs, as each is worked out from its rows now."""
    found: dict[tuple[date, bool], list[Any]] = {}
    for run in Run.objects.filter(project=project, state="finished"):
        figure_runs([run.pk])
        row = RunFigure.objects.get(run=run)
        numbers = [getattr(row, name) for name in SUMMED]
        known = found.get((row.finished_on, row.is_scripted), [0] * len(SUMMED))
        found[row.finished_on, row.is_scripted] = [a + b for a, b in zip(known, numbers, strict=True)]
    return [(*key, *found[key]) for key in sorted(found)]


def every_sum(project: Project) -> list[list[tuple[object, ...]]]:
    """Every figure of the project's runs, and what was spent, without their own ids."""
    rows = {RunFigure: {"project": project}, RunSpend: {"figure__project": project}}
    without = {"id", "figure"}
    return [
        sorted(
            map(
                tuple,
                model._default_manager.filter(**of).values_list(
                    *(field.name for field in model._meta.concrete_fields if field.name not in without)
                ),
            ),
            key=repr,
        )
        for model, of in rows.items()
    ]


def test_every_figure_and_bar_leads_to_as_many_runs_as_it_counts(project: Project) -> None:
    random_project(project, runs=30, seed=9, until=NOON, days=2)
    chosen = on(DAY - timedelta(days=1), DAY)
    metrics = figured(project, chosen)
    for family, counted in metrics.bars.items():
        for bar in counted:
            assert runs_behind(project.pk, chosen, family, bar.key).count() == bar.count, (family, bar)
    of_runs = {"runs", "success_rate", "success_rate_with_reflection", "success_on_first_try", "improvement_rate"}
    of_runs |= {
        "success_rate_without_reflection",
        "over_correction_rate",
        "avg_iterations_per_task",
        "supplements_per_task",
    }
    for name in of_runs:
        figure = metrics.figures[name]
        assert runs_behind(project.pk, chosen, name).count() == figure.of
        if figure.unit == "share":
            assert runs_behind(project.pk, chosen, name, "yes").count() == round((figure.value or 0) * figure.of)
    for one in metrics.spend:
        assert runs_behind(project.pk, chosen, "spend", f"{one.role}|{one.model}").exists()
    names = [definition.name for definition in DEFINITIONS]
    assert names == list(metrics.figures)
    assert all(runs_behind(project.pk, chosen, name) is not None for name in names)


@pytest.mark.parametrize(
    ("figure", "key"),
    [("nothing", ""), ("runs", "maybe"), ("attempts_to_success", "²"), ("modes", "a\0b")],
)
def test_what_is_no_figure_leads_nowhere(figure: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        runs_behind(given.project().pk, on(), figure, key)


def test_figures_outlive_their_runs(project: Project) -> None:
    run = two_attempts(begin(project), 40, 90)
    before = values(figured(project))
    run.task.delete()
    assert not Run.objects.filter(project=project).exists()
    assert values(figured(project)) == before
    assert rebuild(project) == 0
    after = metrics_of(project.pk, on())
    assert (values(after), after.dearest_tasks) == (before, ())
    assert not runs_behind(project.pk, on(), "runs").exists()


def test_no_project_sees_anothers() -> None:
    one, other = given.project(), given.project()
    two_attempts(begin(one, agent="writer"), 40, 90)
    assert figured(other).figures["runs"].value == 0
    assert metrics_of(other.pk, on()).choices["agents"] == ()
    assert not runs_behind(other.pk, on(), "runs").exists()
