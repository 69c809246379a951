"""Rows of a recorded project as a text to be filled in: what differs each time it is told is a slot."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import models

from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.teams.archive.tables import TABLES
from reflection_app.teams.demo.filling import slot

UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
NAMES = re.compile(r"\b(rewind|ref|reflect)_\d{8}_\d{6}_[a-z0-9]{4,12}")
# Not part of a tale: who is a member, the tools, what is exported, and the trail of what the recorder set up.
LEFT_OUT = frozenset({"members", "tools", "notebook_entries", "notebook_versions", "notebook_conflicts"})
OF_NOTEBOOK = frozenset({"notebook_entries", "notebook_versions", "notebook_conflicts", "notebook_evidence"})


@dataclass
class Told:
    """One recorded project as it is kept; see reflection_app/teams/demo/filling.py for what fills it in."""

    project: Project
    # Entries of the notebook by id: all tellings share them.
    shared: dict[str, str]
    vary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    marks: list[tuple[datetime, str]] = field(default_factory=list)
    # A script that the run goes on with; empty where it has ended and its models are named otherwise.
    keeps_script: bool = False
    tables: frozenset[str] | None = None
    ids: dict[str, int] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    def kept(self) -> dict[str, Any]:
        """All of it, as JSON."""
        rows = {name: rows for name, rows in self._rows() if rows}
        text = json.dumps(rows, ensure_ascii=False, default=_as_json)
        self.times = sorted({_moment(found) for found in TIMES.findall(text)})
        self.ids = {one: number for number, one in enumerate(sorted(set(UUIDS.findall(text))))}
        templates = {}
        for name, told in rows.items():
            columns = sorted(told[0])
            templates[name] = {"columns": columns, "rows": [self._slotted(name, row) for row in told]}
        return {
            "tables": templates,
            "times": [round((one - self.times[0]).total_seconds(), 4) for one in self.times],
            "ids": [
                round((UUID(one).int >> 80) / 1000 - self.times[0].timestamp(), 3) if UUID(one).version == 7 else 0
                for one in self.ids
            ],
            "steps": [step | {"ends": self._index(step["ends"])} for step in self.steps],
            "marks": [[self._index(at), kind] for at, kind in self.marks],
            "vary": {name: list(others) for name, others in self.vary.items()},
            "numbers": self.numbers,
        }

    def _rows(self) -> Iterable[tuple[str, list[dict[str, Any]]]]:
        runs = {run.pk: number for number, run in enumerate(Run.objects.filter(project=self.project).order_by("pk"))}
        for table in TABLES:
            if table.name in LEFT_OUT if self.tables is None else table.name not in self.tables:
                continue
            columns = [
                column
                for column in table.model._meta.concrete_fields
                if column.name not in {"search", "read_by_weights"} and not isinstance(column, models.AutoField)
            ]
            rows: models.QuerySet[Any] = models.QuerySet(table.model)
            found = rows.filter(**{table.path: self.project.pk}, **table.only).order_by("pk")
            told = []
            for row in found.values(*(column.attname for column in columns)):
                if self._is_of_the_notebook(table.name, row):
                    continue
                for column in columns:
                    row[column.attname] = _person(column, row[column.attname])
                if table.name == "runs":
                    self._tell_run(row, number=runs[row["id"]])
                if table.name == "steps":
                    self._tell_step(row, run=runs[row["run_id"]])
                if table.name == "notebook_exposures":
                    row |= {"is_counted": True, "is_summed": False}
                told.append(row)
            yield table.name, told

    def _is_of_the_notebook(self, table: str, row: dict[str, Any]) -> bool:
        """Whether it tells of the notebook's own life, which is recorded once and apart."""
        if self.tables is not None:
            return False
        if table == "notebook_evidence":
            return "proposal" in row["refs"]
        if table == "audit":
            return bool(row["target"] in {"entry", "project", "tool"})
        return bool(table == "labels" and row["about"] == "entry")

    def _tell_run(self, row: dict[str, Any], *, number: int) -> None:
        for name, letter in (
            ("prompt_tokens", "P"),
            ("completion_tokens", "C"),
            ("cost_usd", "M"),
            ("active_s", "A"),
        ):
            row[name] = slot(f"#{letter}{number}")
        row |= {"told_seq": 0, "lease_token": None, "lease_until": None, "enqueued_at": None}
        if not self.keeps_script:
            policy = row["spec"]["review_policy"] | {"audit_share": AUDIT_SHARE}
            row["spec"] = row["spec"] | {"review_policy": policy}
            row["is_scripted"] = False
            row["spec"]["models"] = {}

    def _tell_step(self, row: dict[str, Any], *, run: int) -> None:
        number = len(self.steps)
        is_call = row["kind"] == "generate"
        self.steps.append(
            {
                "run": run,
                "kind": row["kind"],
                "role": row["role"],
                "prompt": row["prompt_tokens"],
                "completion": row["completion_tokens"],
                "ends": row["finished_at"] or row["started_at"],
                "is_open": row["finished_at"] is None,
            }
        )
        row["duration_s"] = slot(f"#d{number}")
        if row["kind"] == "draw" and row["result"]:
            row["request"] = row["request"] | {"share": AUDIT_SHARE}
        if is_call:
            for name, letter in (("prompt_tokens", "p"), ("completion_tokens", "c"), ("cost_usd", "m")):
                row[name] = slot(f"#{letter}{number}")
            if not self.keeps_script:
                row["model"] = slot(f"k{number}")
                if row["result"]:
                    row["result"] = row["result"] | {"model": slot(f"k{number}")}

    def _slotted(self, table: str, row: dict[str, Any]) -> str:
        text = json.dumps(dict(sorted(row.items())), ensure_ascii=False, default=_as_json)
        text = text.replace(str(self.project.pk), slot("project"))
        text = re.sub(r'"user:(\d+)"', lambda found: f'"user:{slot(f"u{_username(int(found[1]))}")}"', text)
        text = UUIDS.sub(self._id, text)
        text = TIMES.sub(lambda found: slot(f"t{self._index(_moment(found[0]))}"), text)
        text = NAMES.sub(self._name, text)
        for number, (word, _others) in enumerate(self.vary.items()):
            text = text.replace(word, slot(f"v{number}"))
        for number, figure in enumerate(self.numbers):
            text = re.sub(rf"(?<![\d.]){re.escape(figure)}(?!\d)", slot(f"n{number}"), text)
        # Numbers stand without quotes.
        return re.sub('"(\ue000#[^\ue001]*\ue001)"', r"\1", text)

    def _id(self, found: re.Match[str]) -> str:
        # One whose name differs with the words of the telling is no entry of the one notebook.
        if found[0] in self.shared and not any(word in self.shared[found[0]] for word in self.vary):
            return slot(f"e{self.shared[found[0]]}")
        return slot(f"i{self.ids[found[0]]}")

    def _index(self, at: datetime) -> int:
        return min(bisect_left(self.times, at), len(self.times) - 1)

    def _name(self, found: re.Match[str]) -> str:
        number = self.names.setdefault(found[0], len(self.names))
        stamp = re.search(r"\d{8}_\d{6}", found[0])
        assert stamp is not None
        at = datetime.strptime(stamp[0] + "+0000", "%Y%m%d_%H%M%S%z")
        return slot(f"w{found[1]},{number},{self._index(at)}")


AUDIT_SHARE = 0.3


def _username(pk: int) -> str:
    return User.objects.get(pk=pk).get_username()


def _person(column: "models.Field[Any, Any]", value: Any) -> Any:
    """The value, with people by their names."""
    is_person = column.related_model is User or column.name == "holder_person"
    if value is not None and is_person and not isinstance(column, ArrayField):
        return slot(f"#u{_username(value)}")
    return value


def _as_json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
