"""Imported labels: read whole or refused with every bad line, stored once, and deleted together."""

from typing import Any

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.metrics import judgements
from reflection_app.metrics.calibration import compared_items
from reflection_app.metrics.judgements import delete_import, imports_of, read_labels
from reflection_app.metrics.models import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement
from tests import given
from tests.metrics.judgements import imported, label, labels_of, lines


def compared(project: Project) -> set[tuple[str, str]]:
    return {(row.judged.critic, row.judged.people) for row in compared_items(project.pk)[0]}


def test_an_import_is_compared_and_in_the_audit_trail(project: Project) -> None:
    batch = imported(project, [label("a", confidence=0.8), *labels_of({"ann": "REJECT", "bob": "REJECT"}, "b")])
    assert compared(project) == {("PASS", "PASS"), ("PASS", "REJECT")}
    assert [(one.name, one.judgements.count()) for one in imports_of(project)] == [("labels.jsonl", 2)]
    entry = AuditEntry.objects.get(action="judgements.imported")
    assert (entry.target_id, entry.after) == (batch.pk, {"name": "labels.jsonl", "rows": 3})


def test_a_later_import_replaces_earlier_verdicts_and_a_repeated_one_adds_nothing(project: Project) -> None:
    rows = [label("a", text="Old"), label("b", text="Stays")]
    imported(project, rows)
    imported(project, rows)
    imported(project, [label("a", verdict="REJECT", person="REVISE", confidence=0.5, text="New"), label("b")])
    assert dict(JudgedItem.objects.values_list("external_id", "content")) == {"a": "New", "b": "Stays"}
    assert CriticJudgement.objects.get(item__external_id="a").confidence == 0.5
    assert compared(project) == {("REJECT", "REVISE"), ("PASS", "PASS")}
    assert (CriticJudgement.objects.count(), PersonsJudgement.objects.count()) == (2, 2)


def test_deleting_an_import_deletes_its_verdicts_alone(project: Project) -> None:
    imported(project, [label("a"), label("b")])
    second = imported(project, [label("a", model="other") | {"person": "ann"}, label("c")])
    delete_import(project, second.pk, actor=Actor())
    critics = CriticJudgement.objects.values_list("item__external_id", "model")
    assert sorted(critics) == [("a", "gpt"), ("b", "gpt")]
    assert sorted(PersonsJudgement.objects.values_list("item__external_id", "name")) == [("a", ""), ("b", "")]
    assert sorted(JudgedItem.objects.values_list("external_id", flat=True)) == ["a", "b"]
    assert AuditEntry.objects.get(action="judgements.deleted").target_id == second.pk
    with pytest.raises(NotFound):
        delete_import(project, second.pk, actor=Actor())


def test_people_of_an_import_from_before_go_with_their_item(project: Project) -> None:
    batch = imported(project, [label("a")])
    PersonsJudgement.objects.update(batch=None)
    assert compared(project) == {("PASS", "PASS")}
    delete_import(project, batch.pk, actor=Actor())
    assert not JudgedItem.objects.exists()
    assert not PersonsJudgement.objects.exists()


@pytest.mark.parametrize(
    ("bad", "field", "message"),
    [
        ([], "line 2", "object"),
        (label("x", verdict="garbage"), "line 2, critic_verdict", "'PASS', 'REVISE' or 'REJECT'"),
        (b"not json", "line 2", "JSON"),
        (b"[" * 100_000, "line 2", "JSON"),
        (label("a", confidence=0.5), "line 2", "Line 1 gives a different verdict or confidence of gpt"),
        (
            label("a", model="other", person="REJECT"),
            "line 2",
            "Line 1 gives a different verdict or confidence of a reviewer",
        ),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_read(bad: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_labels(lines([label("a"), bad, label("z")]))
    named = refusal.value.errors
    assert field in [one["field"] for one in named]
    assert message in " ".join(one["message"] for one in named)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"item,model,critic_verdict,person_verdict\na,gpt,PASS,PASS\nb,gpt,PASS,PASS,1,2\n", "line 3, extra_cells"),
        (b'item,model,critic_verdict,person_verdict,text\na,gpt,PASS,PASS,"two\nlines"\nb,gpt,NO,PASS,\n', "line 4"),
        (b"item,text\na," + b"x" * 200_000, "line 2"),
        (b"\xff\xfe", "content"),
    ],
)
def test_a_bad_record_of_csv_is_named(content: bytes, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_labels(content)
    assert field in refusal.value.errors[0]["field"]


def test_csv_and_json_lines_give_the_same_rows() -> None:
    head = b"item,model,critic_verdict,person_verdict,person,confidence,prompt_version,text\r\n"
    sent = label("a", confidence=0.5, text="One\u2028two") | {"person": "ann", "prompt_version": None}
    of_csv = read_labels(b"\xef\xbb\xbf" + head + "a,gpt,PASS,PASS,ann,0.5,,One\u2028two\r\n".encode())
    of_json = read_labels(b"\xef\xbb\xbf" + lines([sent]) + b"\r\n\r\n  \n")
    assert of_csv == of_json
    assert (of_csv[0].confidence, of_csv[0].prompt_version, of_csv[0].text) == (0.5, "", "One\u2028two")


def test_texts_that_cannot_be_stored_are_replaced(project: Project) -> None:
    imported(project, [label("a\x00b", text="x\x00")])
    item = JudgedItem.objects.get()
    assert (item.external_id, item.content) == ("a\N{REPLACEMENT CHARACTER}b", "x\N{REPLACEMENT CHARACTER}")


def test_nothing_and_too_much_are_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"", b"\n\n", b"item,model\n"):
        with pytest.raises(InvalidInput, match="No rows found"):
            read_labels(content)
    monkeypatch.setattr(judgements, "MOST_ROWS", 2)
    with pytest.raises(InvalidInput, match="at most 2 rows"):
        read_labels(b"{}\n" * 3)


def test_another_projects_import_is_not_found_and_its_items_are_its_own(project: Project) -> None:
    batch = imported(project, [label("a")])
    other = given.project()
    with pytest.raises(NotFound):
        delete_import(other, batch.pk, actor=Actor())
    imported(other, [label("a", verdict="REJECT")])
    assert compared(project) == {("PASS", "PASS")}
    assert JudgementImport.objects.count() == 2
