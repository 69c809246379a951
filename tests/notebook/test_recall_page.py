"""The page that tries recall: what would be told for a task, and why; nothing that is tried counts."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from notebook_app.exposures import sum_recalls, was_drawn_for
from notebook_app.models import Entry, Exposure
from reflection_app.core.models import Project, Role, Scope
from reflection_app.loops.project_settings import LessonSettings, NotebookSettings
from tests import given
from tests.api.caller import Caller
from tests.notebook.embedding_rows import active, kept
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db


def page(client: Client, slug: str, *, status: int = 200, **query: str) -> str:
    response = client.get(reverse("try_recall", args=[slug]), query)
    assert response.status_code == status
    return response.content.decode()


def test_what_is_recalled_is_shown_with_its_reason_and_counts_nowhere(client: Client) -> None:
    project = given.project()
    client.force_login(given.member(project, Role.VIEWER))
    make_entry(project, name="State the currency of a refund <b>", state="approved")
    make_entry(project, name="A refund that waits", state="proposed")
    make_entry(project, name="Close the file", state="approved")
    shown = page(client, project.slug, q="What refund, in which currency?").split('id="recalled-title"')[1]
    assert "State the currency of a refund &lt;b&gt;" in shown
    assert "[[notebook:begin:" in shown
    assert not [other for other in ("A refund that waits", "Close the file", "<b>") if other in shown]
    assert not Exposure.objects.exists()
    assert set(Entry.objects.values_list("recalled", flat=True)) == {0}


def test_what_nobody_would_be_told_is_ranked_and_marked(client: Client) -> None:
    project = given.project()
    client.force_login(given.member(project, Role.VIEWER))
    make_entry(project, name="Refunds over 200 euros", description="A colleague writes an approval.", state="approved")
    shown = page(client, project.slug, q="write a poem about a lighthouse for a colleague")
    assert "Refunds over 200 euros" in shown
    assert "Low similarity: not injected" in shown
    assert 'id="nothing-fits"' in shown
    assert "[[notebook:begin:" not in shown


def test_while_the_model_gives_no_answer_words_alone_are_asked(client: Client, settings: Settings) -> None:
    project = given.project()
    client.force_login(given.member(project, Role.VIEWER))
    make_entry(project, name="State the currency of a refund", state="approved")
    active({}, model="openai/house-embedding", dimensions=2)
    for model in ("openai/house-embedding", "none"):
        settings.EMBEDDING_MODEL = model
        assert "State the currency of a refund" in page(client, project.slug, q="What refund?")


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
    assert answer.body["text"].startswith("[[notebook:begin:")
    assert caller.get("notebook/recall", q="zeppelin", category="sea").body["entries"] == []


def test_nothing_is_recorded_without_a_name_and_withheld_entries_are_counted_and_not_told(caller: Caller) -> None:
    entry = kept(caller.project.pk, "Zeppelins need a shed")
    hold_out(caller.project, 0.5)
    sent = {True: 0, False: 0}
    for number in range(14):
        subject = f"job/{number}"
        first = caller.get("notebook/recall", q="zeppelin", **{"for": subject}).body
        assert len(first["entries"]) + first["withheld"] == 1
        assert ("Zeppelins" in first["text"]) == bool(first["entries"])
        again = caller.post("notebook/recall", {"q": "zeppelin shed", "for": subject}).body
        assert again["withheld"] == first["withheld"]
        sent[bool(first["entries"])] += 1
    assert min(sent.values()) >= 1
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
    assert "of 1 entries checked" in answer["nothing_fits"]
    assert not was_drawn_for(caller.project.pk, subject="job/1")
    assert caller.get("notebook/recall", q="limerick").body["nothing_fits"].startswith("No approved entry")
