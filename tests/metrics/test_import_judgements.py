"""Judgements are shown before they are imported, refused line by line, and kept once however often they come."""

from typing import Any

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.metrics.judgements import (
    MOST_ROWS,
    RowStep,
    apply_judgements,
    get_judgement_import,
    read_lines,
    read_values,
)
from reflection_app.metrics.models import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement
from tests.factories import make_project
from tests.metrics.judgements import imported, lines, row, shown


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def test_a_preview_tells_what_would_be_done_and_does_nothing(project: Project) -> None:
    found = shown(project, [row("a"), row("b", people={"ann": "PASS", "bob": "REJECT"}), b"{", row("a", model="other")])
    assert found.counts == {"new": 3, "same": 0, "changed": 0, "refused": 1}
    assert (found.split, found.would_do, found.applied_at) == (1, 3, None)
    assert [one.line for one in found.planned] == [1, 2, 4]
    assert found.refused[0].line == 3
    assert "JSON" in found.refused[0].reason
    assert not JudgedItem.objects.exists()
    assert get_judgement_import(project, found.id) == found


def test_it_is_applied_once_and_the_trail_says_so(project: Project) -> None:
    found = shown(project, [row("a", confidence=0.7, prompt_version="v2", content="Dear Sir"), row("a", model="other")])
    for _again in range(2):
        done = apply_judgements(project, found.id, actor=Actor())
        assert done.applied_at is not None
        assert done.counts == {"new": 2, "same": 0, "changed": 0, "refused": 0}
        assert done.planned == ()
    item = JudgedItem.objects.get()
    assert (item.project, item.external_id, item.content) == (project, "a", "Dear Sir")
    said = CriticJudgement.objects.get(model="gpt")
    assert (said.verdict, said.confidence, said.prompt_version, said.batch_id) == ("PASS", 0.7, "v2", found.id)
    assert PersonsJudgement.objects.get().name == "ann"
    entry = AuditEntry.objects.get(action="judgements.imported")
    assert (entry.target_id, entry.after["new"]) == (found.id, 2)
    assert JudgementImport.objects.get().rows == []


def test_what_comes_again_is_the_same_and_what_differs_is_changed(project: Project) -> None:
    imported(project, [row("a", content="Old"), row("b"), row("c"), row("d"), row("e")])
    rows = [
        row("a", content="New"),
        row("b", verdict="REJECT"),
        row("c", people={"ann": "REVISE"}),
        row("d", confidence=0.5),
        row("e"),
        row("e", prompt_version="v2", people={}),
        row("b", verdict="REJECT"),
    ]
    found = shown(project, rows)
    assert [one.changes for one in found.planned] == [
        ("content",),
        ("verdict",),
        ("people",),
        ("confidence",),
        (),
        (),
        (),
    ]
    assert [one.step for one in found.planned][4:] == [RowStep.SAME, RowStep.NEW, RowStep.SAME]
    apply_judgements(project, found.id, actor=Actor())
    assert JudgedItem.objects.get(external_id="a").content == "New"
    assert CriticJudgement.objects.get(item__external_id="b").verdict == "REJECT"
    assert PersonsJudgement.objects.get(item__external_id="c").verdict == "REVISE"
    assert CriticJudgement.objects.get(item__external_id="d").confidence == 0.5
    assert CriticJudgement.objects.filter(item__external_id="e").count() == 2
    assert shown(project, rows).counts == {"new": 0, "same": 7, "changed": 0, "refused": 0}
    assert JudgedItem.objects.count() == 5


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([], "A row is a JSON object."),
        ({}, "external_id"),
        (row("x", verdict="garbage"), "critic.verdict: Input should be 'PASS', 'REVISE' or 'REJECT'"),
        (row("x", confidence=1.5), "critic.confidence"),
        (row("x", people={"ann": "maybe"}), "people.0.verdict"),
        (row("x") | {"people": [{"name": "ann", "verdict": "PASS"}] * 2}, "twice"),
        (row("x") | {"colour": "red"}, "colour"),
        (row("x" * 201), "external_id"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"external_id": 1e999}', "external_id"),
        (row("a", verdict="REVISE"), "Line 1 says otherwise of what gpt said"),
        (row("a", model="other", people={"ann": "REJECT"}), "Line 1 says otherwise of what ann said"),
        (row("a", model="other", content="Another"), "Line 1 has another content"),
    ],
)
def test_a_line_that_cannot_be_used_is_refused_with_its_number_and_the_others_are_kept(
    project: Project, bad: Any, told: str
) -> None:
    found = shown(project, [row("a", content="One"), bad, row("z")])
    assert [one.line for one in found.refused] == [2]
    assert told in found.refused[0].reason
    assert len(found.refused[0].reason) <= 300
    assert [one.row.external_id for one in found.planned] == ["a", "z"]


def test_texts_that_cannot_be_stored_are_shown_as_what_they_are_not(project: Project) -> None:
    imported(project, [row("a\x00b", model="\ud800", content="x\x00")])
    item = JudgedItem.objects.get()
    assert (item.external_id, item.content) == ("a\N{REPLACEMENT CHARACTER}b", "x\N{REPLACEMENT CHARACTER}")


def test_blank_lines_and_a_byte_order_mark_are_nothing(project: Project) -> None:
    found = read_lines(b"\xef\xbb\xbf" + lines([row("a")]) + b"\r\n\r\n  \n" + lines([row("b")]))
    assert [one.line for one in found.rows] == [1, 4]
    assert found.refused == ()


def test_nothing_and_too_much_are_refused_whole() -> None:
    for content in (b"", b"\n\n"):
        with pytest.raises(InvalidInput, match="no row"):
            read_lines(content)
    with pytest.raises(InvalidInput, match="20,000"):
        read_values([{}] * (MOST_ROWS + 1))


def test_another_projects_import_is_not_there_and_its_items_are_its_own(project: Project) -> None:
    found = shown(project, [row("a")])
    other = make_project()
    with pytest.raises(NotFound):
        get_judgement_import(other, found.id)
    with pytest.raises(NotFound):
        apply_judgements(other, found.id, actor=Actor())
    imported(project, [row("a", verdict="REJECT")])
    assert shown(other, [row("a")]).counts["new"] == 1
    imported(other, [row("a")])
    assert sorted(CriticJudgement.objects.values_list("verdict", flat=True)) == ["PASS", "REJECT"]
