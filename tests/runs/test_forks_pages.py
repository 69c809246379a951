"""Forking in the browser: the form for each kind of step, the links both ways, and the page that compares."""

import re
from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.runs.views.forks import prefilled
from reflection_app.web.rendering import marked
from tests import given, when
from tests.pace import within
from tests.runs.critiques import critique
from tests.runs.test_run_pages import ACTIVE

pytestmark = pytest.mark.django_db

TWICE = {
    "attempt-1/answer": "A first text.",
    "attempt-1/critique": critique(
        40, issues=[{"description": "No title", "suggested_fix": "Add one"}], feedback={"weaknesses": ["Too plain"]}
    ),
    "attempt-2/answer": "A second text.",
    "attempt-2/critique": critique(90, approved=True),
}


def told_run(name: str, answers: dict[str, str] = TWICE, **submission: Any) -> Run:
    submission.setdefault("mode", "external_loop" if "tests" in submission else "actor_critic")
    return given.advanced_run(given.scripted_project(name, answers), **submission)


@pytest.fixture(scope="module")
def finished_twice(module_transaction: None) -> Run:
    return told_run("twice")


@pytest.fixture
def run(finished_twice: Run) -> Run:
    """A finished run of two attempts, the same for all tests."""
    return Run.objects.get(pk=finished_twice.pk)


def posted(client: Client, run: Run, step: int, **typed: Any) -> Any:
    return client.post(f"/p/{run.project.slug}/runs/{run.pk}/fork/?step={step}", typed)


def fork_of(run: Run) -> Run:
    fork = Run.objects.get(parent=run)
    when.advances(fork)
    return fork


def test_a_verdict_is_edited_as_fields_and_changes_how_the_fork_ends(client: Client, run: Run) -> None:
    given.logged_in(client, run.project)
    assert 'value="No title"' in client.get(f"/p/twice/runs/{run.pk}/fork/?step=3").text
    response = posted(client, run, 3, change="result", verdict="PASS", score="40", note="Good enough")
    fork = fork_of(run)

    assert response["Location"] == f"/p/twice/runs/{fork.pk}/"
    assert (fork.outcome, fork.attempts_made, fork.fork_note) == ("succeeded", 1, "Good enough")
    page = client.get(f"/p/twice/runs/{fork.pk}/").text
    for other in (f"{run.pk}/", f"{fork.pk}/compare/"):
        assert f'href="/p/twice/runs/{other}"' in page
    assert f'href="/p/twice/runs/{fork.pk}/"' in client.get(f"/p/twice/runs/{run.pk}/").text


def test_a_prompt_is_edited_message_by_message(client: Client, run: Run) -> None:
    given.logged_in(client, run.project)
    assert "message_content" in client.get(f"/p/twice/runs/{run.pk}/fork/?step=5").text
    posted(
        client, run, 5, change="messages", message_role=["system", "user"], message_content=["", "Write\r\nanother."]
    )
    fork = fork_of(run)
    assert Step.objects.get(run=fork, seq=5).request["messages"] == [{"role": "user", "content": "Write\nanother."}]
    assert "prompt edited" in client.get(f"/p/twice/runs/{fork.pk}/").text


NONSENSE: list[tuple[int, dict[str, str], str]] = [
    (3, {"change": "result", "verdict": "MAYBE", "score": "40"}, "Choose pass, revise or reject."),
    (3, {"change": "result", "verdict": "PASS", "score": "much"}, "Enter a score from 0 to 100."),
    (
        3,
        {"change": "result", "verdict": "REVISE", "score": "40", "issue_suggested_fix": "Do it"}
        | {"issue_category": "other", "issue_severity": "low", "issue_description": ""},
        "Issue 1: Describe the issue.",
    ),
    (1, {"change": "messages", "message_role": "user", "message_content": " "}, "at least one message"),
    (1, {"change": "messages", "message_role": "tool", "message_content": "x"}, "Message 1: "),
    (3, {"change": "again", "max_iterations": "0"}, "A whole number from 1 to 20."),
    (3, {"change": "again", "note": "x" * 10_001}, "At most 10,000 characters."),
    (1, {"change": "result", "text": "nul \x00"}, "cannot be stored"),
]


def test_what_makes_no_sense_comes_back_with_all_that_was_typed(client: Client, run: Run) -> None:
    given.logged_in(client, run.project)
    for step, typed, said in NONSENSE:
        response = posted(client, run, step, **{"note": "my note"} | typed)
        assert response.status_code == 400
        for shown in (said, "The run was not forked.", typed.get("note") or "my note"):
            assert shown in response.text, typed
    assert not Run.objects.filter(parent=run).exists()


def test_json_that_is_none_comes_back_as_it_was(client: Client) -> None:
    tests = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}
    run = told_run("nojson", {"attempt-1/answer": "def f(x): return 2"}, tests=tests)
    given.logged_in(client, run.project)
    for data, said in (
        ('{"results": [', "Invalid JSON:"),
        ('{"results": []}', "results: "),
        ("[" * 100_000, "Invalid JSON: a number is too long, or nesting is too deep."),
        ("[]", "Must be a JSON object."),
    ):
        response = posted(client, run, 2, change="result", data=data)
        assert response.status_code == 400
        assert said in response.text, data[:20]


def test_a_step_that_is_not_there_is_not_found(client: Client, run: Run) -> None:
    given.logged_in(client, run.project)
    for step in ("0", "9", "-1", "x", "", "1" * 9, "²"):
        assert client.get(f"/p/twice/runs/{run.pk}/fork/?step={step}").status_code == 404, step


def test_a_fork_and_its_parent_are_compared_from_where_they_part(client: Client, run: Run) -> None:
    fork = fork_run(
        run,
        ForkInput(from_step=5, result={"text": "A second and better text."}, note="Why not"),
        actor=Actor(),
    )
    advance(fork.pk)
    given.logged_in(client, run.project)
    page = client.get(f"/p/twice/runs/{fork.pk}/compare/").text
    assert "The first 4 steps are the same." in page
    assert "Why not" in page
    assert "A second <ins>and better </ins>text." in page
    assert page.count('class="pair pair-differs"') == 1
    no_fork = client.get(f"/p/twice/runs/{run.pk}/compare/")
    assert no_fork["Location"] == f"/p/twice/runs/{run.pk}/"


def test_hostile_text_is_inert_in_forms_and_comparisons(client: Client) -> None:
    said = critique(
        40,
        issues=[{"description": given.HOSTILE, "suggested_fix": given.HOSTILE}],
        feedback={"weaknesses": [given.HOSTILE]},
    )
    run = told_run(
        "hostile-fork", TWICE | {"attempt-1/answer": given.HOSTILE, "attempt-1/critique": said}, objective=given.HOSTILE
    )
    wanted = ForkInput(
        from_step=3, result={"verdict": "PASS", "issues": [{"description": given.HOSTILE}]}, note=given.HOSTILE
    )
    fork = fork_run(run, wanted, actor=Actor())
    advance(fork.pk)
    given.logged_in(client, run.project)
    pages = [f"{run.pk}/fork/?step={step}" for step in range(1, 9)]
    for path in (*pages, f"{run.pk}/", f"{fork.pk}/", f"{fork.pk}/compare/", f"{fork.pk}/fork/?step=3"):
        page = client.get(f"/p/hostile-fork/runs/{path}").text
        assert "alert(1)" in page
        # What a field holds is quoted, and any quote in it escaped.
        unfilled = re.sub('value="[^"]*"', "", page)
        assert not ACTIVE.search(unfilled), (path, ACTIVE.search(unfilled))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a" * 1_000_000, "b" * 1_000_000),
        ("a " * 100_000, "b a " * 50_000),
        ("a\n" * 100_000, "b\n" * 100_000),
        (
            "\n".join(f"{number % 97} x" for number in range(900)),
            "\n".join(f"{number % 89} x" for number in range(900)),
        ),
    ],
)
def test_long_texts_are_compared_in_bounded_time(left: str, right: str) -> None:
    with within(paces=250):
        before, after = marked(left, right)
    for shown, text in ((before, left), (after, right)):
        assert text.startswith(re.sub("</?(del|ins)>", "", shown))


def test_words_of_scripts_without_spaces_are_compared_one_by_one() -> None:
    assert marked("春风又绿江南岸", "春风又到江南岸") == ("春风又<del>绿</del>江南岸", "春风又<ins>到</ins>江南岸")


def test_what_is_wrong_with_a_field_of_a_hostile_name_is_told_all_the_same(run: Run) -> None:
    form = prefilled(run, run.steps.get(seq=1), from_step=1)
    form.add_errors([{"field": "result.issues.<b>", "message": "extra"}])
    assert form.errors
