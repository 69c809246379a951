"""Pairs that are made of runs: kept answers to the same task, by different makers."""

from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from reflection_app.comparisons.claiming import claim_next
from reflection_app.comparisons.judging import undo_judgement
from reflection_app.comparisons.models import Pair, PairJudgement, Preference
from reflection_app.comparisons.pairing import Kept, Maker, PairChoice, _of_same_task, find_pairs
from reflection_app.comparisons.sets import SetInput, create_set
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project, Scope
from reflection_app.loops.project_settings import RetentionSettings
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.runs.advance import advance
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.models import Task
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.retention import carry_out_retention, change_retention, order_retention, preview_retention
from tests import given
from tests.api.caller import Caller
from tests.comparisons.pairs import choice_for, claimed, judge_of, make_set, said
from tests.metrics.settled import let_settle
from tests.reviews.editing import edited
from tests.runs.critiques import critique
from tests.teams.archive.archives import everybody, written

pytestmark = pytest.mark.django_db


def answered(project: Project, content: str, *, model: str = "", actor: Actor | None = None, **task: Any) -> Run:
    """A finished run whose outside agent handed this in, made by `model`."""
    passed = {"attempt-1/critique": critique(95, approved=True)}
    run = given.scripted_run(passed, project=project, actor=actor, execution="external", **task)
    advance(run.pk)
    told = AttemptInput.model_validate({"content": content, "usage": {"model": model}})
    hand_in_attempt(run, told, actor=actor or Actor())
    advance(run.pk)
    # Of the scripted model is the critic alone.
    Run.objects.filter(pk=run.pk).update(is_scripted=False)
    run.refresh_from_db()
    assert run.is_finished, run.error
    return run


def makers(project: Project, **choice: Any) -> list[tuple[str, str]]:
    pairs = find_pairs(project, PairChoice(**choice))
    return [tuple(sorted((pair.model_a, pair.model_b))) for pair in pairs]  # type: ignore[misc]


def test_answers_of_different_models_to_the_same_words_are_a_pair(project: Project) -> None:
    first = answered(project, "Paris", model="m-1", objective="The capital of France?")
    second = answered(project, "Lyon", model="m-2", objective="The capital of France?")
    answered(project, "Rome", model="m-2", objective="The capital of Italy?")
    (pair,) = find_pairs(project, PairChoice())
    assert {pair.model_a, pair.model_b} == {"m-1", "m-2"}
    assert {pair.answer_a, pair.answer_b} == {"Paris", "Lyon"}
    assert {pair.attempt_a_id, pair.attempt_b_id} == {first.best_attempt_id, second.best_attempt_id}
    assert (pair.objective, pair.objective_b) == ("The capital of France?", "")


def test_an_external_id_makes_tasks_the_same_and_both_objectives_are_kept(project: Project) -> None:
    answered(project, "Paris", model="m-1", objective="The capital of France?", external_id="q-1")
    answered(project, "Lyon", model="m-2", objective="Name France's capital.", external_id="q-1")
    (pair,) = find_pairs(project, PairChoice())
    assert {pair.objective, pair.objective_b} == {"The capital of France?", "Name France's capital."}


def test_the_same_answer_and_the_same_maker_are_no_pair(project: Project) -> None:
    for content, model in (("Paris", "m-1"), ("Paris", "m-2"), ("Lyon", "m-2")):
        answered(project, content, model=model, objective="Where?")
    # The newest of each maker: Lyon of m-2, not its older Paris.
    (pair,) = find_pairs(project, PairChoice())
    assert {pair.answer_a, pair.answer_b} == {"Paris", "Lyon"}


def test_prompts_are_told_apart_by_the_metadata_and_agents_by_their_name(project: Project) -> None:
    answered(project, "one", model="m-1", objective="Where?", metadata={"prompt": "v7"})
    answered(project, "two", model="m-1", objective="Where?", metadata={"prompt": "v8"})
    answered(project, "three", objective="Where?", agent="planner")
    answered(project, "four", objective="Where?", metadata={"model": "told", "prompt": 9})
    found = find_pairs(project, PairChoice())
    known = {(pair.model_a, pair.prompt_a) for pair in found} | {(pair.model_b, pair.prompt_b) for pair in found}
    assert known == {("m-1", "v7"), ("m-1", "v8"), ("planner", ""), ("told", "9")}
    assert makers(project, model_a="m-1", model_b="m-1") == [("m-1", "m-1")]
    assert makers(project, prompt_a="v7", model_b="planner") == [("m-1", "planner")]


def test_a_run_of_the_desk_has_the_version_of_its_prompts(project: Project) -> None:
    said = {"attempt-1/answer": "one", "attempt-1/critique": critique(95, approved=True)}
    first, second = (
        given.scripted_run(said | {"attempt-1/answer": text}, project=project, objective="Where?")
        for text in ("one", "two")
    )
    for run in (first, second):
        advance(run.pk)
    assert makers(project) == []
    # As if the words of a prompt had been others then.
    Run.objects.filter(pk=first.pk).update(prompt_versions={"write_system": "other"})
    Step.objects.filter(made_attempt__isnull=False, run__project=project).update(model="m-1")
    (pair,) = find_pairs(project, PairChoice(scripted=True))
    assert (pair.model_a, pair.model_b) == ("m-1", "m-1")
    assert len(pair.prompt_a) == len(pair.prompt_b) == 8
    assert pair.prompt_a != pair.prompt_b


def test_filters_narrow_the_runs(project: Project) -> None:
    for number in range(2):
        answered(project, f"a{number}", model=f"m-{number}", objective="Where?", kind="geography", agent="guide")
    assert len(makers(project, kind="geography", agent="guide")) == 1
    for choice in ({"kind": "other"}, {"agent": "x"}, {"model_a": "x"}):
        assert makers(project, **choice) == []
    assert find_pairs(given.project(), PairChoice()) == []


def test_as_many_of_each_two_makers_as_of_the_others(project: Project) -> None:
    for number in range(3):
        for model in ("m-1", "m-2", "m-3") if number == 0 else ("m-1", "m-2"):
            answered(project, f"{model} {number}", model=model, objective=f"Question {number}")
    assert sorted(makers(project, most=3)) == [("m-1", "m-2"), ("m-1", "m-3"), ("m-2", "m-3")]
    assert len(makers(project, most=4)) == 4


def test_a_set_takes_pairs_that_no_other_has_and_says_where_there_are_none(project: Project) -> None:
    anna = given.member(project)
    for number in range(2):
        answered(project, f"a{number}", model=f"m-{number}", objective="Where?", actor=Actor(user=anna))
    made = create_set(project, SetInput(name=" All ", wanted=2, choose=PairChoice(model_a="m-0")), actor=Actor())
    assert (made.name, made.chosen) == ("All", {"model_a": "m-0"})
    (pair,) = made.pairs.all()
    assert (pair.wanted, pair.handed_in_by) == (2, [f"user:{anna.pk}"])
    with pytest.raises(
        InvalidInput, match="No new pairs match: no set may contain them yet, and the answers to a task must differ"
    ):
        create_set(project, SetInput(name="Again", choose=PairChoice()), actor=Actor())
    with pytest.raises(
        InvalidInput, match="No new pairs match: no set may contain them yet, and the answers to a task must differ"
    ):
        create_set(project, SetInput(name="None", choose=PairChoice(kind="x")), actor=Actor())
    # With the runs their words go.
    Task.objects.filter(runs__attempts=pair.attempt_a).delete()
    assert not Pair.objects.exists()


def test_what_a_reviewer_wrote_is_no_answer_of_the_agents(project: Project) -> None:
    answered(project, "Paris", model="m-1", objective="Where?")
    run = answered(project, "Lyon", objective="Where?", agent="planner")
    assert len(find_pairs(project, PairChoice())) == 1
    [review] = ask_for_review(run, AskInput(note="Is it?"), actor=Actor(user=given.member(project)))
    edited(review, "Paris, of course.")
    assert find_pairs(project, PairChoice()) == []


def test_runs_with_a_model_of_their_own_each_are_not_all_put_to_each_other() -> None:
    one = Kept(uuid4(), uuid4(), "", "asked", "", Maker("m", ""))
    many = [one._replace(content=str(n), maker=Maker(f"m-{n}", "")) for n in range(3_000)]
    found = list(_of_same_task(many))
    assert len(found) == 100 * 99 / 2
    assert found[0][0].maker.model == "m-0"


def test_many_objectives_of_one_external_id_are_soon_known_as_one_task() -> None:
    one = Kept(uuid4(), uuid4(), "q-1", "", "", Maker("m", ""))
    many = [one._replace(objective=f"asked {n}", content=str(n)) for n in range(20_000)]
    begun = process_time()
    assert list(_of_same_task(many)) == []
    assert process_time() - begun < 5


# Pairs go with what they hold, and come along with their project.


def test_what_people_said_comes_along_and_they_are_known_again(tmp_path: Path, project: Project) -> None:
    make_set(project, 2, wanted=2)
    anna = judge_of(project)
    done = said(claimed(project, actor=anna), Preference.LEFT, actor=anna, reason="Why")
    claimed(project, actor=anna)
    path = tmp_path / "project.zip"
    path.write_bytes(written(project))
    copy = import_project(path, Wishes(slug="copy", people=everybody()), actor=Actor()).project
    (kept,) = PairJudgement.objects.filter(project=copy)
    assert (kept.choice, kept.left, kept.reason, kept.person) == (done.choice, done.left, "Why", anna.person_id)
    assert Pair.objects.filter(project=copy).count() == 2
    seat = claim_next(copy, actor=anna)
    assert seat is not None
    assert seat.pair_id != kept.pair_id


def test_what_a_pipeline_handed_in_goes_after_the_days_of_runs(project: Project) -> None:
    make_set(project, 2)
    Pair.objects.filter(pk=Pair.objects.earliest("id").pk).update(created_at=timezone.now() - timedelta(days=31))
    settings = RetentionSettings(runs_days=30)
    due = {one.kind: one.due for one in preview_retention(project, settings, now=timezone.now())}
    assert due["pairs"] == 1
    change_retention(project, settings, actor=Actor())
    carry_out_retention(order_retention(project, actor=Actor()).pk)
    assert Pair.objects.count() == 1


# What people preferred blindly is among the preferences, in its place in time.


@pytest.fixture
def caller() -> Caller:
    return given.caller(scopes=[Scope.ADMIN])


def rows_of(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    let_settle()
    answer = caller.get("datasets/preferences", **query)
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.body["results"]
    return rows


def preferred(project: Project, side: str, *, actor: Actor | None = None) -> Any:
    actor = actor or judge_of(project)
    seat = claimed(project, actor=actor)
    return said(seat, choice_for(seat, side) if side else Preference.TIE, actor=actor)


def test_a_pair_of_a_pipeline_has_no_run(caller: Caller) -> None:
    make_set(caller.project)
    judged = preferred(caller.project, "b")
    (row,) = rows_of(caller)
    assert row["id"] == str(judged.pk)
    assert row["source"] == "pairwise"
    assert (row["chosen"], row["rejected"]) == ("Answer 1 of the other.", "Answer 1 of the one.")
    assert [row[name] for name in ("run_id", "task_id", "mode", "chosen_attempt", "rejected_run_id")] == [None] * 5
    assert rows_of(caller, agent="somebody") == []


def test_a_pair_of_runs_names_both(caller: Caller) -> None:
    project = caller.project
    project.review_policy = {"audit_share": 0}
    project.save()
    first, second = (answered(project, text, model=text, objective="Where?", agent="guide") for text in ("m-1", "m-2"))
    made = caller.post("comparisons", {"name": "All", "choose": {}})
    assert made.status == 201, made.body
    judged = preferred(project, "a")
    (row,) = rows_of(caller, agent="guide")
    chosen = Run.objects.get(attempts=judged.pair.attempt_a)
    assert {first.pk, second.pk} == {chosen.pk, Run.objects.get(attempts=judged.pair.attempt_b).pk}
    assert (row["run_id"], row["agent"], row["chosen_attempt"]) == (str(chosen.pk), "guide", 1)
    assert row["rejected_run_id"] in {str(first.pk), str(second.pk)} - {row["run_id"]}


def test_ties_keys_and_what_was_taken_back_prefer_nothing(caller: Caller) -> None:
    make_set(caller.project, 3)
    anna = judge_of(caller.project)
    preferred(caller.project, "", actor=anna)
    undo_judgement(preferred(caller.project, "a", actor=anna), actor=anna)
    key, _secret = given.api_key(caller.project, ["reviews:write"], made_by=given.member(caller.project))
    preferred(caller.project, "a", actor=Actor(api_key=key))
    assert rows_of(caller) == []


def test_pages_have_each_row_once_whatever_table_it_is_of(caller: Caller) -> None:
    make_set(caller.project, 4)
    anna = judge_of(caller.project)
    for _turn in range(2):
        preferred(caller.project, "a", actor=anna)
        preferred(caller.project, "b", actor=anna)
        run = given.finished_run(caller.project)
        Run.objects.filter(pk=run.pk).update(is_scripted=False)
    let_settle()
    whole = rows_of(caller)
    assert [row["source"] for row in whole] == ["pairwise", "pairwise", "critic", "pairwise", "pairwise", "critic"]
    for limit in (1, 2, 5):
        found, answer = [], caller.get("datasets/preferences", limit=limit)
        while True:
            found += answer.body["results"]
            if answer.body["next"] is None:
                break
            answer = caller.get(answer.body["next"])
        assert found == whole, limit
