"""Data sets over REST: whose rows, in which order, up to which moment, and for which keys."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Scope
from reflection_app.loops.lessons import Lesson, Lessons, RecallLessons
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.datasets import asking, reading
from reflection_app.metrics.datasets.catalogue import DATASETS, DatasetKind
from reflection_app.metrics.datasets.columns import ColumnAnswer, columns_of
from reflection_app.metrics.datasets.files import csv_columns
from reflection_app.metrics.datasets.people import People
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Verdict
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.metrics.recorded import begin
from tests.metrics.settled import let_settle
from tests.reviews.panels import open_panel, panel_project, people, say
from tests.reviews.reviewed import criticised, decide, review_of

pytestmark = pytest.mark.django_db


def finished(caller: Caller, *, at: datetime | None = None, **more: Any) -> Run:
    """A run whose tests failed its first attempt and passed its second."""
    metadata = more.pop("metadata", {})
    rows = begin(caller.project, **more)
    rows.run.task.metadata = metadata
    rows.run.task.save()
    rows.verdict(rows.attempt(1, model="openai/small"), Referee.TESTS, VerdictName.REVISE, 40)
    kept = rows.attempt(2, model="openai/small")
    rows.verdict(kept, Referee.CRITIC, VerdictName.REVISE, 55)
    rows.verdict(kept, Referee.TESTS, VerdictName.PASS, 100)
    run = rows.end(Outcome.SUCCEEDED, kept=kept, at=at or timezone.now())
    Verdict.objects.filter(attempt__run=run).update(created_at=run.finished_at)
    return run


def ids_of(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["results"]]


def test_a_run_is_one_row_with_all_that_was_said_of_it(caller: Caller) -> None:
    run = criticised(caller.project)
    decided = decide(review_of(run), VerdictName.REVISE)
    run.task.external_id, run.task.metadata = "T-1", {"team": "search"}
    run.task.save()
    Run.objects.filter(pk=run.pk).update(cost_usd=Decimal("0.25"))
    let_settle()
    [row] = caller.get("datasets/runs").body["results"]
    assert (row["id"], row["external_id"], row["metadata"]) == (str(run.pk), "T-1", {"team": "search"})
    assert (row["objective"], row["outcome"]) == (run.task.objective, "succeeded")
    assert (row["answer"], row["answer_attempt"], row["answer_referee"]) == ("A first text.", 1, "person")
    assert [one["content"] for one in row["attempts"]] == ["A first text."]
    assert [(one["referee"], one["verdict"]) for one in row["verdicts"]] == [("critic", "PASS"), ("person", "REVISE")]
    decision = row["decision"]
    assert (decision["review_id"], decision["decision"], decision["verdict"]) == (str(decided.pk), "overrule", "REVISE")
    assert (decision["reason"], decision["by"], decision["by_key"]) == ("So.", decided.decided_by_label, False)
    assert row["decisions"] == [decision]
    assert (row["cost_usd"], row["known_cost_usd"], row["lessons"]) == (0.25, 0.25, [])


def test_a_run_tells_which_lessons_it_was_told_and_which_were_withheld(caller: Caller) -> None:
    lesson = Lesson(
        entry_id=uuid4(), version=2, kind="lesson", name="Count", text="Count twice.", rank=1, score=1,
        share=0.1, draw=0.5, is_withheld=False,
    )  # fmt: skip
    withheld = lesson.model_copy(update={"entry_id": uuid4(), "text": "", "is_withheld": True})
    rows = begin(caller.project)
    recalled = Lessons(lessons=(lesson, withheld)).model_dump(mode="json")
    rows.step("lessons", RecallLessons.kind, result=recalled)
    rows.end(Outcome.FAILED, kept=None, at=timezone.now())
    let_settle()
    [row] = caller.get("datasets/runs").body["results"]
    assert [(one["name"], one["text"], one["withheld"]) for one in row["lessons"]] == [
        ("Count", "Count twice.", False),
        ("Count", "", True),
    ]
    assert (row["answer"], row["answer_score"]) == (None, None)


def test_other_projects_unfinished_scripted_and_the_desks_own_runs_are_not_told(caller: Caller) -> None:
    finished(given.caller())
    begin(caller.project)
    scripted = finished(caller, is_scripted=True)
    finished(caller, mode=Mode.ERROR_REFLECTION)
    own = finished(caller)
    let_settle()
    assert ids_of(caller.get("datasets/runs")) == [str(own.pk)]
    assert ids_of(caller.get("datasets/runs", scripted="true")) == [str(scripted.pk)]


def test_pages_follow_one_another_and_stay_at_the_moment_of_the_first(caller: Caller) -> None:
    at = timezone.now() - timedelta(hours=1)
    # Two of the same moment: the id orders them.
    runs = [finished(caller, at=at + timedelta(seconds=number // 2)) for number in range(5)]
    first = caller.get("datasets/runs", limit=2)
    assert len(ids_of(first)) == 2
    late = finished(caller, at=timezone.now() - 2 * asking.SETTLED_AFTER)
    seen, page = ids_of(first), first
    while page.body["next"]:
        page = caller.get(page.body["next"])
        assert page.body["until"] == first.body["until"]
        seen += ids_of(page)
    wanted = sorted(runs, key=lambda run: (run.finished_at, run.pk))
    assert seen[:5] == [str(run.pk) for run in wanted]
    assert seen[5:] in ([], [str(late.pk)])
    again = caller.get("datasets/runs", until=first.body["until"])
    assert ids_of(again) == seen


def test_a_row_names_the_place_behind_it_so_that_a_broken_read_goes_on(caller: Caller) -> None:
    at = timezone.now() - timedelta(hours=1)
    runs = [finished(caller, at=at + timedelta(seconds=number)) for number in range(3)]
    last = caller.get("datasets/runs", limit=2).body["results"][-1]
    assert ids_of(caller.get("datasets/runs", cursor=f"{last['at']}~{last['id']}")) == [str(runs[2].pk)]


def test_what_was_said_after_the_moment_is_not_in_it(caller: Caller) -> None:
    run = criticised(caller.project)
    let_settle(timedelta(hours=1))
    before = timezone.now() - timedelta(minutes=30)
    decide(review_of(run), VerdictName.REVISE)
    let_settle()
    [now] = caller.get("datasets/runs").body["results"]
    [before] = caller.get("datasets/runs", until=before.isoformat()).body["results"]
    assert [one["referee"] for one in before["verdicts"]] == ["critic"]
    assert (before["decision"], now["decision"]["verdict"]) == (None, "REVISE")


def test_what_just_ended_is_left_for_the_next_read(caller: Caller) -> None:
    finished(caller)
    assert ids_of(caller.get("datasets/runs", until=(timezone.now() + timedelta(days=1)).isoformat())) == []
    let_settle()
    assert len(ids_of(caller.get("datasets/runs"))) == 1


def test_rows_are_chosen_by_day_agent_kind_mode_outcome_and_metadata(caller: Caller) -> None:
    old = finished(caller, at=datetime(2026, 1, 31, 23, 59, tzinfo=UTC), agent="writer", kind="reasoning")
    new = finished(caller, at=datetime(2026, 2, 1, tzinfo=UTC), mode=Mode.REFLEXION, metadata={"team": "a", "n": [1]})
    Run.objects.filter(pk=new.pk).update(outcome="exhausted")
    for query, wanted in (
        ({"until": "2026-01-31"}, [old]),
        ({"since": "2026-02-01"}, [new]),
        ({"since": "2026-01-01", "until": "2026-02-01"}, [old, new]),
        ({"agent": "writer"}, [old]),
        ({"kind": "reasoning"}, [old]),
        ({"mode": "reflexion"}, [new]),
        ({"outcome": "exhausted"}, [new]),
        ({"metadata": '{"team": "a"}'}, [new]),
        ({"metadata": '{"team": "b"}'}, []),
    ):
        assert ids_of(caller.get("datasets/runs", **query)) == [str(run.pk) for run in wanted], query


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"metadata": "[1]"}, "metadata"),
        ({"until": "2026-13-01"}, "until"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "since"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": f"2026-01-01T00:00:00Z~{'-' * 36}"}, "cursor"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_its_field(
    caller: Caller, query: dict[str, str], field: str
) -> None:
    refused = caller.get("datasets/preferences", **query)
    then.refused(refused, 400)
    assert then.named_fields(refused) == [field]


def test_a_critics_verdict_is_told_with_what_people_made_of_it(caller: Caller) -> None:
    run = criticised(caller.project, score=80)
    review = decide(review_of(run), VerdictName.REVISE)
    approved = decide(review_of(criticised(caller.project, score=95)))
    let_settle()
    first, second = caller.get("datasets/critic").body["results"]
    assert (first["id"], first["run_id"], first["content"]) == (str(review.pk), str(run.pk), "A first text.")
    assert (first["critic_verdict"], first["critic_score"], first["critic_confidence"]) == ("PASS", 80, 0.9)
    assert (first["human_verdict"], first["human_reason"], first["overruled"]) == ("REVISE", "So.", True)
    assert first["critic_model"]
    assert len(first["critic_prompt_version"].split("-")) == 3
    assert (second["id"], second["human_verdict"], second["overruled"]) == (str(approved.pk), "PASS", False)


def test_what_a_key_decided_is_no_persons_word(caller: Caller) -> None:
    review = decide(review_of(criticised(caller.project)), VerdictName.REVISE)
    Review.objects.filter(pk=review.pk).update(decided_by=None, decided_by_key=caller.key)
    let_settle()
    assert caller.get("datasets/critic").body["results"] == []
    [row] = caller.get("datasets/runs").body["results"]
    assert (row["decision"], row["decisions"][0]["by_key"]) == (None, True)


def test_a_blind_opinion_is_told_nobody_before_the_last_has_spoken() -> None:
    caller = given.caller(panel_project(reviewers=2))
    panel = open_panel(caller.project, reviewers=2)
    Run.objects.filter(pk=panel.run_id).update(is_scripted=False)
    first, second = people(caller.project, 2)
    say(panel, first, VerdictName.REVISE)
    let_settle()
    assert caller.get("datasets/critic").body["results"] == []
    say(panel, second, VerdictName.REVISE)
    let_settle()
    [row] = caller.get("datasets/critic").body["results"]
    assert (row["human_verdict"], row["reviewers"], row["overruled"]) == ("REVISE", 2, True)
    assert set(row["by"].split(", ")) == {first.label, second.label}


def test_who_reads_of_a_decision_knows_of_it_and_it_is_not_undone(caller: Caller) -> None:
    for read in ("datasets/runs", "datasets/critic", "datasets/runs/export"):
        run = criticised(caller.project)
        decide(review_of(run), VerdictName.REVISE)
        let_settle()
        run.refresh_from_db()
        assert run.told_seq < run.last_event_seq
        assert caller.get(read).status == 200
        run.refresh_from_db()
        assert run.told_seq == run.last_event_seq


def test_people_are_named_by_made_up_names_where_the_rows_are_to_be_anonymous(caller: Caller) -> None:
    reviewer = given.member(caller.project)
    reviewer.username, reviewer.first_name, reviewer.last_name = "ada.lovelace", "Ada", "Lovelace"
    reviewer.save()
    run = criticised(caller.project)
    review = decide(review_of(run), VerdictName.REVISE)
    Review.objects.filter(pk=review.pk).update(
        decided_by_label="ada.lovelace", decision_reason="Ask Ada Lovelace or write to ada@example.org."
    )
    run.task.objective = "Write to ada@example.org, as Lovelace said."
    run.task.save()
    let_settle()
    [plain] = caller.get("datasets/critic").body["results"]
    assert (plain["by"], plain["objective"]) == ("ada.lovelace", run.task.objective)
    assert plain["human_reason"] == "Ask Ada Lovelace or write to [mail address]."
    [hidden] = caller.get("datasets/critic", anonymous="true").body["results"]
    name = hidden["by"]
    assert name.startswith("person-")
    assert hidden["human_reason"] == f"Ask {name} or write to [mail address]."
    assert hidden["objective"] == f"Write to [mail address], as {name} said."
    other = given.project()
    assert People(other.pk, anonymous=True).name("ada.lovelace") not in {name, "ada.lovelace"}
    # A mail address is hidden in any case.
    Review.objects.filter(pk=review.pk).update(decided_by_label="ada@example.org")
    assert caller.get("datasets/critic").body["results"][0]["by"].startswith("person-")


def test_an_answer_ends_where_rows_are_far_between_and_says_where_to_go_on(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LOOKED_AT", 2)
    at = timezone.now() - timedelta(hours=1)
    for number in range(3):
        rows = begin(caller.project)
        kept = rows.attempt(1)
        rows.end(Outcome.UNVERIFIED, kept=kept, at=at + timedelta(seconds=number))
    wanted = finished(caller, at=at + timedelta(seconds=9))
    page, seen, asked = caller.get("datasets/preferences", limit=1), [], 1
    seen += page.body["results"]
    while page.body["next"]:
        page = caller.get(page.body["next"])
        seen += page.body["results"]
        asked += 1
    assert [row["run_id"] for row in seen] == [str(wanted.pk)]
    assert asked > 1


# Data sets as files: the same rows as page by page, whichever the format.


@pytest.fixture
def told() -> Caller:
    """Whose project has a decided run, then an undecided one whose objective looks like a formula."""
    caller = given.caller()
    first = criticised(caller.project)
    decide(review_of(first), VerdictName.REVISE)
    first.task.metadata = {"team": "search", "Größe": [1]}
    first.task.save()
    Run.objects.filter(pk=first.pk).update(cost_usd=Decimal("0.25"))
    let_settle(timedelta(minutes=1))
    second = criticised(caller.project)
    second.task.objective = "=1+1"
    second.task.save()
    let_settle()
    return caller


def exported(caller: Caller, kind: str, form: str) -> bytes:
    answer = caller.get(f"datasets/{kind}/export", format=form)
    assert answer.status == 200, answer.body
    assert answer.headers["content-disposition"].endswith(f'.{form}"')
    assert answer.headers["dataset-schema"] == f"{kind}/{DATASETS[DatasetKind(kind)].schema_version}"
    content: bytes = answer.body or b""
    return content


def paged(caller: Caller, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = caller.get(f"datasets/{kind}").body["results"]
    return rows


def test_files_have_the_rows_of_the_pages_and_csv_is_flat_without_formulas(told: Caller) -> None:
    lines = [json.loads(line) for line in exported(told, "runs", "jsonl").decode().splitlines()]
    assert len(lines) == 2
    assert lines == paged(told, "runs")
    first, second = csv.DictReader(io.StringIO(exported(told, "runs", "csv").decode(), newline=""))
    wanted = paged(told, "runs")[0]
    assert (first["id"], first["decision.verdict"], float(first["cost_usd"])) == (wanted["id"], "REVISE", 0.25)
    assert json.loads(first["metadata"]) == {"team": "search", "Größe": [1]}
    assert [one["content"] for one in json.loads(first["attempts"])] == ["A first text."]
    assert (second["objective"], second["decision.verdict"]) == ("'=1+1", "")


@pytest.mark.parametrize("kind", DatasetKind)
def test_a_file_without_rows_has_the_columns_all_the_same(kind: DatasetKind) -> None:
    caller = given.caller(scopes=[Scope.RUNS_READ])
    assert exported(caller, kind, "jsonl") == b""
    assert exported(caller, kind, "csv").decode().strip().split(",") == csv_columns(DATASETS[kind])


# Data sets in the browser: the first rows, their files, and what is wrong with a filter.


PAGE = "/p/desk/metrics/datasets/"


def decided(project: Project, objective: str = "Write a haiku.") -> None:
    run = criticised(project)
    run.task.objective = objective
    run.task.save()
    decide(review_of(run), VerdictName.REVISE)
    let_settle()


def test_the_first_rows_are_shown_and_the_file_has_them_all(client: Client, project: Project) -> None:
    decided(project)
    page = given.logged_in(client, project).get(f"{PAGE}?set=critic&anonymous=true").text
    assert "Write a haiku." in page
    assert 'metrics/datasets/critic.csv?anonymous=true"' in page
    assert 'Desk().dataset("critic", anonymous=True)' in page
    assert "/api/v1/datasets/critic/export?anonymous=true&amp;format=jsonl" in page
    answer = client.get(f"{PAGE}critic.jsonl?anonymous=true")
    assert answer["Content-Disposition"].startswith('attachment; filename="critic-desk-')
    [row] = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
    assert (row["objective"], row["human_verdict"]) == ("Write a haiku.", "REVISE")
    entry = AuditEntry.objects.get(action="dataset.exported")
    assert entry.after["dataset"] == "critic"
    assert client.get(f"{PAGE}runs.csv").getvalue().startswith(b"id,at,")


def test_a_filter_that_cannot_be_understood_is_named_and_gives_no_file(client: Client, project: Project) -> None:
    page = given.logged_in(client, project).get(f"{PAGE}?metadata=%7Bx&agent=kept")
    assert page.status_code == 400
    assert "must be a JSON object" in page.text
    assert 'value="kept"' in page.text
    sent_back = client.get(f"{PAGE}runs.csv?metadata=%7Bx&agent=kept")
    assert sent_back.status_code == 302
    assert "set=runs" in sent_back["Location"]
    assert "agent=kept" in sent_back["Location"]
    assert client.get(f"{PAGE}secrets.csv").status_code == 404
    assert client.get(f"{PAGE}runs.exe").status_code == 404
    assert client.get(f"{PAGE}?set=secrets").status_code == 200


# docs/reference/datasets.md and the rows are held together.


WRITTEN = Path(__file__).parents[2] / "docs" / "reference" / "datasets.md"


def lines_of(columns: Sequence[ColumnAnswer], above: str = "") -> Iterator[str]:
    for column in columns:
        yield f"| `{above}{column.name}` | {column.words} | "
        yield from lines_of(column.fields, f"{above}{column.name}{'[]' if column.is_list else ''}.")


@pytest.mark.parametrize("kind", DatasetKind)
def test_every_column_is_documented_in_its_order_and_no_other(kind: DatasetKind) -> None:
    dataset = DATASETS[kind]
    _, _, section = WRITTEN.read_text().partition(f"## `{kind}`, version {dataset.schema_version}\n")
    written = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    expected = list(lines_of(columns_of(dataset.row)))
    assert [line[: len(start)] for line, start in zip(written, expected, strict=True)] == expected
