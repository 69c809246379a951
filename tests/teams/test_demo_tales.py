"""The recorded tales of the demo: made by the loops that there are now, and of the tables that there are now.

Where one of these fails, record them anew: .venv/bin/python -m tests.teams.record_demo
"""

import json
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from reflection_app.loops.catalogue import VERSIONS
from reflection_app.loops.task_spec import Mode
from reflection_app.teams.archive.tables import TABLES
from reflection_app.teams.demo.filling import OPENS, Telling, recorded
from reflection_app.teams.demo.loading import NOTEBOOK, REVIEWERS
from tests.house.test_recorded_journals import replay

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


class AsRecorded(Random):
    """Chooses the words of the recording."""

    def choice[T](self, seq: "SupportsLenAndGetItem[T]") -> T:
        return seq[0]


def told(name: str) -> dict[str, list[dict[str, Any]]]:
    """The tale's rows, told once."""
    tale = recorded()[name]
    people = {reviewer: number for number, reviewer in enumerate(REVIEWERS, 1)}
    models = {"actor": "openai/gpt-5-mini", "critic": "openai/gpt-5"}
    telling = Telling(tale, UUID(int=5), 1, AT, models, people, {}, AsRecorded(1))
    return {table: [json.loads(row) for row in rows] for table, _columns, rows in telling.rows()}


def test_every_tale_is_told_without_a_gap_and_in_order() -> None:
    for name in recorded():
        if name == NOTEBOOK:
            continue
        rows = told(name)
        assert OPENS not in json.dumps(rows, ensure_ascii=False)
        for run in rows.get("runs", []):
            steps = [step for step in rows.get("steps", []) if step["run_id"] == run["id"]]
            assert [step["seq"] for step in steps] == list(range(1, len(steps) + 1)), name
            assert run["prompt_tokens"] == sum(step["prompt_tokens"] for step in steps), name
            assert all(step["started_at"] <= (step["finished_at"] or "9") for step in steps), name
            events = [event["seq"] for event in rows["events"] if event["run_id"] == run["id"]]
            assert sorted(events) == list(range(1, run["last_event_seq"] + 1)), name


def test_the_present_loops_go_the_way_of_every_tale() -> None:
    replayed = 0
    for name in recorded():
        if name == NOTEBOOK:
            continue
        rows = told(name)
        for run in rows.get("runs", []):
            if run["state"] != "finished" or run["parent_id"] or run["loop_version"] != VERSIONS[Mode(run["mode"])]:
                continue
            steps = [
                step | {"spent": {}}
                for step in sorted(rows["steps"], key=lambda one: one["seq"])
                if step["run_id"] == run["id"]
            ]
            if run["outcome"] in {"cancelled", "over_budget"}:
                continue
            ended = replay({"spec": run["spec"], "loop_version": run["loop_version"], "steps": steps})
            assert ended.outcome == run["outcome"], name
            replayed += 1
    assert replayed > 150, "most tales are of former loops"


def test_the_recording_has_no_column_that_is_gone() -> None:
    known = {table.name: {column.attname for column in table.model._meta.concrete_fields} for table in TABLES}
    for name, tale in recorded().items():
        for table, rows in tale.tables.items():
            assert set(rows.columns) <= known[table], f"{name}: {table}"
