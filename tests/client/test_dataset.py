"""Data sets by the client: rows over all pages, and tables of pandas and Hugging Face's library, the real ones."""

import asyncio
import builtins
from typing import Any

import pytest
from reflection_desk import AsyncDesk, LibraryMissing
from reflection_desk.calls import datasets as calls

from reflection_app.metrics.datasets import asking
from tests.client.conftest import Served
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def finished(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A desk with five finished runs of two attempts each, of the scripted model."""
    monkeypatch.setattr(asking, "SETTLED_AFTER", asking.SETTLED_AFTER * 0)
    served.critic(critique(40), critique(90, approved=True))
    with served.client() as desk:
        for number in range(5):
            task = desk.submit_task(
                f"Haiku {number}.",
                mode="actor_critic",
                agent="poet",
                metadata={"number": number} if number % 2 else {"team": {"name": "red"}},
            )
            assert task.run is not None
            desk.wait_for_run(task.run.id, until_finished=True)
    return served


def test_rows_come_over_all_pages(finished: Served) -> None:
    with finished.client() as desk:
        rows = desk.dataset("runs", scripted=True, agent="poet")
        assert [row["objective"] for row in rows] == [f"Haiku {number}." for number in range(5)]
        # Two a page, and again from the beginning.
        paged = list(desk.pages(calls.read_dataset("runs", scripted=True, limit=2)))
        assert [row["id"] for row in paged] == [row["id"] for row in rows]
        of_team = list(desk.dataset("runs", scripted=True, metadata={"team": {"name": "red"}}))
        assert [row["objective"] for row in of_team] == ["Haiku 0.", "Haiku 2.", "Haiku 4."]


def test_tables_have_the_columns_of_the_set_and_their_types(finished: Served) -> None:
    with finished.client() as desk:
        frame = desk.dataset("runs", scripted=True).to_pandas()
        assert len(frame) == 5
        assert str(frame["at"].dtype).startswith("datetime64")
        assert frame["at"].dt.tz is not None
        assert [len(attempts) for attempts in frame["attempts"]] == [2] * 5
        assert frame["answer_score"].mean() == 90
        empty = desk.dataset("preferences", scripted=True, agent="nobody").to_pandas()
        assert len(empty) == 0
        assert {"prompt", "chosen", "rejected"} <= set(empty.columns)

        table = desk.dataset("runs", scripted=True).to_hf()
        assert table.num_rows == 5
        assert [row["metadata"] for row in table][:2] == ['{"team": {"name": "red"}}', '{"number": 1}']
        assert table[0]["attempts"][1]["number"] == 2
        pairs = desk.dataset("preferences", scripted=True).to_hf()
        assert set(pairs.features) >= {"prompt", "chosen", "rejected"}
        # What has no rows has its columns, so that parts of a set can be put together.
        nobodys = desk.dataset("runs", scripted=True, agent="nobody").to_hf()
        assert nobodys.features == table.features

    async def read() -> tuple[list[str], Any, Any]:
        async with AsyncDesk(finished.url, finished.key) as desk:
            rows = desk.dataset("runs", scripted=True)
            return [row["id"] async for row in rows], await rows.to_pandas(), await rows.to_hf()

    ids, frame, table = asyncio.run(read())
    assert ids == list(frame["id"]) == table["id"][:]


def test_a_library_that_is_not_there_is_named(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name in {"pandas", "datasets"}:
            raise ImportError(name)
        return usual(name, *args, **kwargs)

    with served.client() as desk:
        rows = desk.dataset("runs", scripted=True)
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(LibraryMissing, match="pip install pandas"):
            rows.to_pandas()
        with pytest.raises(LibraryMissing, match="pip install datasets"):
            rows.to_hf()
