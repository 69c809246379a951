"""What a completeness check leaves behind: rows, events with the seed's fields, and what recurs."""

from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from django.db import transaction
from django.test import Client

from notebook_app.models import Entry
from notebook_app.public import lock_notebook
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import operation_key
from reflection_app.repairs.completeness import withdraw_what_recurred
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs import advance as advancing
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.runs.undo import unmake_supplements
from tests import given, then, when
from tests.loops.completeness.scenes import call_of, checked, wanted
from tests.repairs.completeness import SAVE, planned_run, reading_project, supplemented
from tests.runs.test_crashes import Killed, killing_after

pytestmark = pytest.mark.django_db


COMPLETE = {"attempt-1/completeness": checked(analysis="都有了")}

SEEDS_EVENTS = ("reflection", "reflection_plan", "reflection_exec")


def events_of(run: Run) -> dict[str, dict[str, Any]]:
    rows = Event.objects.filter(run=run, type__in=SEEDS_EVENTS)
    return {row.type: row.payload for row in rows}


@pytest.fixture(scope="module")
def done(module_transaction: None) -> Run:
    """A run that was supplemented."""
    return supplemented(reading_project())


def test_a_supplemented_run_is_told_by_rows_and_by_the_three_events(done: Run) -> None:
    run = done
    assert (run.outcome, run.error) == ("succeeded", "")

    check = CompletenessCheck.objects.get(run=run)
    assert (check.state, check.task_kind) == ("completed_by_supplement", "compare")
    assert check.missing_aspects == ["第二个文件"], "what was missing stays to be read"
    assert (check.used, check.attempted, check.succeeded, check.success_rate) == (True, 2, 2, 1.0)
    assert (check.tokens, check.cost_usd, check.steps_ok) == (250, Decimal("0.001"), True)
    supplement = Supplement.objects.get(completeness_check=check)
    assert (supplement.operation, supplement.attempted, supplement.succeeded) == ("读取第二个文件", True, True)
    assert supplement.operation_key == operation_key("读取第二个文件")
    assert supplement.tokens > 0

    assert events_of(run) == {
        "reflection": {
            "isComplete": False,
            "analysis": "不完整：只读了一个文件",
            "missingsCount": 1,
            "supplementsCount": 1,
        },
        "reflection_plan": {
            "plan": {
                "manifest": [{"name": "read_file"}],
                "steps": [{"id": "s1-read", "description": "读取第二个文件", "tool": "read_file", "requires": []}],
            },
            "supplementsCount": 1,
        },
        "reflection_exec": {"exec": {"used": True, "attempted": 2, "succeeded": 2, "successRate": 1.0}},
    }
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def test_the_project_can_turn_it_off_or_let_it_only_look() -> None:
    off = supplemented(reading_project(completeness={"when": "off"}))
    assert not Step.objects.filter(run=off, key__contains="completeness").exists()
    looking = supplemented(reading_project(completeness={"max_supplements": 0}))
    assert (looking.outcome, list(events_of(looking))) == ("succeeded", ["reflection"])


def test_a_fork_from_its_supplements_on_counts_no_second_check(done: Run) -> None:
    parent = done
    step = Step.objects.get(run=parent, key="attempt-1/supplement/plan/make")
    fork = fork_run(parent, ForkInput(from_step=step.seq), actor=Actor())
    when.advances(fork)
    assert (fork.outcome, fork.error) == ("succeeded", "")
    assert CompletenessCheck.objects.filter(run__task=parent.task).count() == 1
    assert set(events_of(fork)) == {"reflection_plan", "reflection_exec"}
    assert events_of(fork)["reflection_plan"]["supplementsCount"] == 1


def test_a_supplement_that_three_runs_of_a_kind_lacked_is_offered_to_the_notebook_once() -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(2)]
    supplemented(project, kind="another")
    assert not Entry.objects.exists(), "two runs of a kind, and one of another, are not three"
    supplemented(reading_project())
    assert not Entry.objects.exists(), "nothing crosses projects"

    runs.append(supplemented(project, {"attempt-1/completeness": checked(SAVE | {"operation": "请读取第二个文件。"})}))
    [entry] = Entry.objects.all()
    assert (entry.kind, entry.state, entry.category, entry.occurrences) == ("supplement", "proposed", "compare", 3)
    assert entry.project_id == project.pk
    assert [one.refs["run"] for one in entry.evidence.all()] == [str(run.pk) for run in runs]
    assert "任务要求比较两个文件" in entry.content

    supplemented(project)
    entry.refresh_from_db()
    assert (Entry.objects.count(), entry.occurrences) == (1, 4)


def taken_back(run: Run) -> None:
    """As undoing takes back the step that found something missing."""
    one = Supplement.objects.get(completeness_check__run=run)
    Supplement.objects.filter(pk=one.pk).delete()
    with transaction.atomic():
        lock_notebook(run.project_id)
        withdraw_what_recurred(run, one)


def test_an_offer_is_withdrawn_with_the_second_of_four_runs() -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(4)]
    source = Entry.objects.get().source
    taken_back(runs[0])
    entry = Entry.objects.get()
    assert (entry.source, entry.occurrences) == (source, 3)
    taken_back(runs[1])
    assert not Entry.objects.filter(state="proposed").exists(), "two runs are too few for an offer"


def test_a_supplement_known_by_its_words_alone_is_taken_back_where_it_was_counted() -> None:
    project = reading_project()
    before = [supplemented(project) for _ in range(3)]
    Entry.objects.update(source="imported by a person")
    taken_back(supplemented(project))
    entry = Entry.objects.get()
    assert (entry.occurrences, [found.refs["run"] for found in entry.evidence.all()]) == (
        3,
        [str(other.pk) for other in before],
    )


def test_forks_are_no_evidence_of_their_own() -> None:
    project = reading_project()
    first = supplemented(project)
    supplemented(project)
    step = Step.objects.get(run=first, key="attempt-1/completeness")
    fork = fork_run(first, ForkInput(from_step=step.seq), actor=Actor())
    advance(fork.pk)
    assert CompletenessCheck.objects.filter(run=fork).count() == 1
    assert not Entry.objects.exists()

    supplemented(project)
    assert Entry.objects.get().occurrences == 3
    advance(fork_run(first, ForkInput(from_step=step.seq), actor=Actor()).pk)
    assert Entry.objects.get().occurrences == 3


def test_texts_that_a_database_refuses_or_that_are_huge_are_kept_as_far_as_they_can_be() -> None:
    huge = wanted("读取第二个文件" * 1_000 + "\x00\ud800", "因为" * 5_000, "read_file", quote="比较两个文件")
    run = supplemented(reading_project(), {"attempt-1/completeness": checked(huge, analysis="长" * 50_000)})
    assert run.outcome == "succeeded"
    supplement = Supplement.objects.get(completeness_check__run=run)
    assert (len(supplement.operation), len(supplement.operation_key) <= 300) == (500, True)


def test_what_is_taken_back_of_the_supplements_leaves_the_check_as_it_was_found(done: Run) -> None:
    unmake_supplements(done, Step.objects.filter(run=done, kind="record_supplements"))
    check = CompletenessCheck.objects.get(run=done)
    assert (check.state, check.used, check.succeeded) == ("incomplete", None, None)
    assert Supplement.objects.get(completeness_check=check).succeeded is None


def test_events_say_that_something_was_missing_and_that_it_was_done() -> None:
    project = reading_project()
    done = supplemented(project)
    again = supplemented(project, {"attempt-1/supplement/step-1/arguments": call_of("read_file", path="一.txt")})
    complete = supplemented(project, COMPLETE)

    def told(run: Run) -> dict[str, object]:
        return dict(Event.objects.filter(run=run, type__startswith="completeness.").values_list("type", "payload"))

    incomplete = {"attempt": 1, "missing": 1, "supplements": 1}
    assert told(done) == {
        "completeness.incomplete": incomplete,
        "completeness.completed": {"attempt": 1, "supplements": 1},
    }
    assert told(again) == {"completeness.incomplete": incomplete}, "reading the same again completes nothing"
    assert told(complete) == {}


HALF = {"when": "sampled", "share": 0.5}


def drawn_run(chance: float, project: Project | None = None) -> Run:
    """A run that ended, for which this number was drawn."""
    run = planned_run(project or reading_project(completeness=HALF))
    with patch("secrets.SystemRandom") as source:
        source.return_value.random = iter([chance, *[0.99] * 20]).__next__
        advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_run_outside_the_sample_ends_without_a_check() -> None:
    run = drawn_run(0.5)
    assert run.outcome == "succeeded"
    assert not CompletenessCheck.objects.filter(run=run).exists()
    step = Step.objects.get(run=run, kind="draw_check")
    assert (step.key, step.result) == ("completeness/draw", {"share": 0.5, "sampled_by": 0.5})


@pytest.mark.parametrize("commits", [1, 2, 3, 4])
def test_a_worker_killed_anywhere_draws_no_second_time(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(reading_project(completeness=HALF))
    with monkeypatch.context() as patched:
        killing_after(commits, patched, advancing, "value_of")
        with pytest.raises(Killed):
            advance(run.pk)
    drawn = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    Run.objects.filter(pk=run.pk).update(state="queued", lease_token=None, lease_until=None)
    when.advances(run)
    after = list(Step.objects.filter(run=run, kind="draw_check").values_list("result", flat=True))
    assert (run.outcome, len(after)) == ("succeeded", 1)
    assert not drawn or drawn == after


def test_a_fork_goes_on_as_its_parent_was_drawn() -> None:
    parent = drawn_run(0.9)
    answer = Step.objects.get(run=parent, key="attempt-1/answer")
    fork = fork_run(parent, ForkInput(from_step=answer.seq), actor=Actor())
    advance(fork.pk)
    then.run_succeeded(fork)
    assert not CompletenessCheck.objects.filter(run=fork).exists()


def test_the_draw_of_a_run_cannot_be_edited_in_a_fork() -> None:
    run = drawn_run(0.9)
    step = Step.objects.get(run=run, kind="draw_check")
    caller = given.caller(run.project)
    answer = caller.post(f"runs/{run.pk}/fork", {"from_step": step.seq, "result": {"sampled_by": 0.1}})
    assert answer.status == 400
    assert "random draw" in str(answer.body)


def test_a_run_that_was_held_out_before_is_still_shown(client: Client) -> None:
    run = drawn_run(0.9)
    recorded = {"share": 1.0, "holdout_share": 0.5, "sampled_by": 0.0, "held_by": 0.1}
    Step.objects.filter(run=run, kind="draw_check").update(result=recorded)
    former = {"enabled": True, "when": "always", "least_share": 0.05, "holdout_share": 0.5, "least_worth": 0.0}
    spec = run.spec | {"completeness": former, "completeness_from": "kind"}
    Run.objects.filter(pk=run.pk).update(spec=spec)
    page = given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text
    assert "Not checked:" in page
    lots = given.caller(run.project).get(f"runs/{run.pk}").body["completeness_lots"]
    assert lots["arm"] == "not_sampled"
