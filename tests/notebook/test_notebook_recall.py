"""Recall over REST."""

import pytest

from notebook_app.exposures import sum_recalls, was_drawn_for
from reflection_app.core.models import Project, Scope
from reflection_app.loops.project_settings import LessonSettings, NotebookSettings
from tests import given
from tests.api.caller import Caller
from tests.notebook.embedding_rows import kept

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return given.caller(scopes=[Scope.NOTEBOOK_READ])


def hold_out(project: Project, share: float) -> None:
    settings = NotebookSettings(lessons=LessonSettings(holdout_share=share))
    Project.objects.filter(pk=project.pk).update(notebook=settings.model_dump(mode="json"))


def test_entries_are_told_with_the_reason_and_as_text_for_a_prompt(caller: Caller) -> None:
    entry = kept(caller.project.pk, "Zeppelins need a shed", category="air")
    kept(caller.project.pk, "Customs forms")
    answer = caller.get("notebook/recall", q="zeppelin")
    assert answer.status == 200
    assert (answer.body["decided_by"], answer.body["nothing_fits"]) == ("words", "")
    [found] = answer.body["entries"]
    assert (found["id"], found["version"], found["words"]) == (str(entry.pk), entry.version, ["zeppelin"])
    assert (answer.body["withheld"], answer.body["used_meaning"]) == (0, False)
    assert answer.body["why_not_meaning"]
    assert "Zeppelins need a shed" in answer.body["text"]
    assert answer.body["text"].startswith("[[notebook:begin:")
    assert caller.get("notebook/recall", q="zeppelin", category="sea").body["entries"] == []
    assert caller.get("notebook/recall", q="zeppelin", kind="rule").body["entries"] == []


def test_nothing_is_recorded_without_a_name_and_withheld_entries_are_counted_and_not_told(caller: Caller) -> None:
    entry = kept(caller.project.pk, "Zeppelins need a shed")
    hold_out(caller.project, 0.5)
    sent = {True: 0, False: 0}
    for number in range(40):
        subject = f"job/{number}"
        first = caller.get("notebook/recall", q="zeppelin", **{"for": subject}).body
        assert len(first["entries"]) + first["withheld"] == 1
        assert ("Zeppelins" in first["text"]) == bool(first["entries"])
        again = caller.post("notebook/recall", {"q": "zeppelin shed", "for": subject}).body
        assert again["withheld"] == first["withheld"]
        sent[bool(first["entries"])] += 1
    assert min(sent.values()) >= 5
    sum_recalls()
    entry.refresh_from_db()
    assert entry.recalled == sent[True]
    assert caller.get("notebook/recall", q="zeppelin").body["withheld"] == 0
    sum_recalls()
    entry.refresh_from_db()
    assert entry.recalled == sent[True]


def test_where_nothing_fits_the_answer_says_so_and_nothing_is_drawn(caller: Caller) -> None:
    kept(caller.project.pk, "Refunds over 200 euros", description="A colleague has to write a second approval.")
    hold_out(caller.project, 0.5)
    asked = {"q": "write a poem about a lighthouse", "for": "job/1"}
    answer = caller.post("notebook/recall", asked).body
    assert (answer["entries"], answer["withheld"]) == ([], 0)
    assert "No match: of 1 entries checked, the best has" in answer["nothing_fits"]
    assert not was_drawn_for(caller.project.pk, subject="job/1")
    assert caller.get("notebook/recall", q="limerick").body["nothing_fits"].startswith("No approved entry")
