"""Entries found by their words."""

from uuid import uuid4

import pytest

from notebook_app.curation import edit
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import DESK, EntryKind
from notebook_app.models import Entry
from notebook_app.public import similar
from notebook_app.search import matching, refresh_search
from tests.notebook.embedding_rows import kept

pytestmark = pytest.mark.django_db
EVERY = EntryFilter()


def names(project_id: object, text: str, among: EntryFilter = EVERY) -> list[str]:
    found = matching(project_id, text, among=among, limit=10)  # type: ignore[arg-type]
    entries = Entry.objects.in_bulk([one.entry_id for one in found])
    return [entries[one.entry_id].name for one in found]


def test_english_is_found_by_stems_and_told_as_it_was_asked() -> None:
    project_id = uuid4()
    kept(project_id, "Harbours left out of the summary")
    kept(project_id, "Count syllables")
    [found] = matching(project_id, "Summaries of each harbour", among=EVERY, limit=5)
    assert set(found.words) == {"Summaries", "harbour"}
    assert 0 < found.score <= 1


def test_chinese_is_found_without_spaces_and_told_in_whole_words() -> None:
    project_id = uuid4()
    kept(project_id, "出发日期格式错误")
    kept(project_id, "退款必须原路返回")
    [found] = matching(project_id, "航班的出发日期怎么写", among=EVERY, limit=5)
    assert found.words == ("出发日期",)
    assert names(project_id, "退") == ["退款必须原路返回"]


@pytest.mark.parametrize("asked", ["SEARCH_FLIGHTS", "searchFlights"])
def test_identifiers_are_found_however_they_are_written(asked: str) -> None:
    project_id = uuid4()
    kept(project_id, "Dates for search_flights are ISO")
    kept(project_id, "Weather and hotels")
    assert names(project_id, asked) == ["Dates for search_flights are ISO"]


def test_the_whole_identifier_goes_before_its_parts() -> None:
    project_id = uuid4()
    kept(project_id, "HTTP 500 on upload, 404 bytes sent")
    kept(project_id, "HTTP 404 on upload")
    kept(project_id, "search all flights")
    kept(project_id, "search_flights takes ISO")
    assert names(project_id, "HTTP 404")[0] == "HTTP 404 on upload"
    assert names(project_id, "search_flights")[0] == "search_flights takes ISO"


def test_the_name_weighs_more_than_the_content_and_a_rare_word_more_than_a_common_one() -> None:
    project_id = uuid4()
    for number in range(8):
        kept(project_id, f"Tool {number}", description="a tool")
    kept(project_id, "Elsewhere", content="the zeppelin")
    kept(project_id, "The zeppelin")
    assert names(project_id, "tool zeppelin")[:2] == ["The zeppelin", "Elsewhere"]


def test_only_what_the_filter_means_and_only_of_the_project() -> None:
    project_id = uuid4()
    kept(project_id, "A zeppelin waits", approved=False)
    kept(uuid4(), "A zeppelin of others")
    kept(project_id, "A zeppelin flies", agent="pilot", tags=("air",))
    assert names(project_id, "zeppelin") == ["A zeppelin flies"]
    assert names(project_id, "zeppelin", EntryFilter(agent="cook")) == []
    assert names(project_id, "zeppelin", EntryFilter(kinds=(EntryKind.RULE,))) == []
    assert names(project_id, "zeppelin", EntryFilter(agent="pilot", tags=("air",))) == ["A zeppelin flies"]
    assert len(names(project_id, "zeppelin", EntryFilter(states=()))) == 2


def test_an_edited_entry_is_found_by_its_new_words_alone() -> None:
    project_id = uuid4()
    entry = kept(project_id, "A zeppelin")
    edit(project_id, entry.pk, by=DESK, name="A balloon")
    assert names(project_id, "zeppelin") == []
    assert names(project_id, "balloons") == ["A balloon"]


def test_what_was_written_in_bulk_is_found_once_it_is_refreshed() -> None:
    project_id = uuid4()
    Entry.objects.bulk_create(
        Entry(project_id=project_id, kind="rule", state="approved", name=f"Zeppelin {n}", source=str(n), fingerprint=n)
        for n in range(3)
    )
    assert names(project_id, "zeppelin") == []
    assert refresh_search(project_id) == 3
    assert refresh_search() == 0
    assert len(names(project_id, "zeppelin")) == 3


@pytest.mark.parametrize(
    "asked", ["", " \n", "the and of", "' | ! & (:*", "\\'", "𠮷", "'; DROP TABLE x; --", "a" * 9_000]
)
def test_whatever_is_asked_nothing_breaks(asked: str) -> None:
    project_id = uuid4()
    kept(project_id, "It's a \\ back'slash: 'quoted'")
    assert matching(project_id, asked, among=EVERY, limit=5) == []


def test_similar_entries_share_more_than_a_word_by_chance() -> None:
    project_id = uuid4()
    kept(project_id, "Harbours left out", description="a summary of customs tariffs forgot some harbours")
    kept(project_id, "Customs forms", approved=False)
    [found] = similar(project_id, "Summarise the customs tariff of each harbour for the board.")
    assert found.entry.name == "Harbours left out"
    assert {"customs", "tariff", "harbour"} <= set(found.shared)
    assert len(similar(project_id, "customs")) == 2
