"""The page that tries recall: what would be told for a task, and why; nothing that is tried counts."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from notebook_app.models import Entry, Exposure
from reflection_app.core.models import Role
from tests import given
from tests.notebook.embedding_rows import active
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
    assert "Shared words: " in shown
    assert "Low similarity: not injected" not in shown
    assert "Confidence" in shown
    assert "Text search only: search by meaning is not available." in shown
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


@pytest.mark.parametrize("is_off", [False, True])
def test_who_asks_while_the_model_gives_no_answer_may_try_again(
    client: Client, settings: Settings, *, is_off: bool
) -> None:
    settings.EMBEDDING_MODEL = "none" if is_off else "openai/house-embedding"
    project = given.project()
    client.force_login(given.member(project, Role.VIEWER))
    make_entry(project, name="State the currency of a refund", state="approved")
    active({}, model="openai/house-embedding", dimensions=2)
    shown = page(client, project.slug, q="What refund?")
    assert "State the currency of a refund" in shown
    assert "Text search only" in shown
    assert (
        "Text search only: the embedding model did not answer in time. Try again in a moment." in shown
    ) is not is_off
