"""A recorded tale, told again: at another time, by other models, with other names and figures.

The recording (tests/teams/record_demo.py) holds rows as texts with slots, each between two characters of
Unicode's private area:

  project  the project's id           iN  an id of this telling      eNAME  an entry of the notebook, shared by all
  tN  a moment                        uNAME, #uNAME  a person        wKIND,N,M  a name such as a ticket's, of moment M
  kN  the model of step N             vN  a word, nN a figure that differs from telling to telling
  #dN #pN #cN #mN  seconds, tokens and cost of step N     #PN #CN #MN #AN  their sums, of run N

Moments come in the order of the recording. How far they lie apart is made up here: a call of a model takes as long as
it writes, a person takes a while, and all else is a matter of milliseconds.
"""

import hashlib
import json
import lzma
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid5

from reflection_app.loops.attempt_effects import Generate, RunTests

RECORDED = Path(__file__).parent / "tales.json.xz"
OPENS, CLOSES = "\ue000", "\ue001"
SLOTS = re.compile(f"{OPENS}([^{OPENS}{CLOSES}]*){CLOSES}")
# US dollars for a million tokens, asked and answered.
PRICES = {
    "openai/gpt-5": (1.25, 10.0),
    "openai/gpt-5-mini": (0.25, 2.0),
    "anthropic/claude-sonnet-4-5": (3.0, 15.0),
    "anthropic/claude-haiku-4-5": (1.0, 5.0),
    "deepseek/deepseek-chat": (0.28, 0.42),
}
# Tables whose rows all tellings of a tale share: the project has each of them once.
ONCE = ("fix_pairs", "agent_instructions")
# How many minutes people and outside agents take, from and to.
TAKES_MIN = {"reviewer": (6, 240), "reading": (1, 7), "agent": (4, 50)}
EVIDENCE = "notebook_evidence"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
PAUSE_S = (0.004, 0.05)


def slot(name: str) -> str:
    return f"{OPENS}{name}{CLOSES}"


@dataclass(frozen=True)
class Table:
    """The rows of one table; each is a list whose odd items are slots."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Tale:
    name: str
    tables: Mapping[str, Table]
    facts: Mapping[str, Any]

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def course(self) -> str:
        return self.name.split("/")[1] if "/" in self.name else ""


@cache
def recorded() -> Mapping[str, Tale]:
    """All tales by name, read once in a process."""
    found = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return {name: _tale(name, told) for name, told in found["tales"].items()}


def _tale(name: str, told: dict[str, Any]) -> Tale:
    tables = {
        table: Table(tuple(rows["columns"]), tuple(tuple(SLOTS.split(row)) for row in rows["rows"]))
        for table, rows in told.pop("tables").items()
    }
    # The newest moment of the recording before each id was made.
    told["places"] = [max(bisect_right(told["times"], after_s) - 1, 0) for after_s in told.pop("ids")]
    told["once"] = frozenset(one for table in ONCE if table in tables for one in _ids_of(tables[table]))
    return Tale(name, tables, told)


def _ids_of(table: Table) -> Iterator[str]:
    """The slots in which the ids of its rows stand."""
    for row in table.rows:
        yield from (row[place] for place in range(1, len(row), 2) if row[place - 1].endswith('"id": "'))


@dataclass
class Telling:
    """One telling of a tale that begins at `begins`. `models` are names by role, `people` their numbers by name."""

    tale: Tale
    project: UUID
    number: int
    begins: datetime
    models: Mapping[str, str]
    people: Mapping[str, int]
    entries: Mapping[str, UUID]
    chance: Random
    # Nothing happens later than this.
    until: datetime | None = None
    # When each moment is, where that does not follow from what happens in between.
    moments: list[datetime] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, Table, list[str]]]:
        """Each table with its rows as JSON texts."""
        self._make_up()
        value = self._value
        for name, table in self.tale.tables.items():
            told = []
            for row in table.rows:
                if name == EVIDENCE and any(slot[0] == "e" and slot[1:] not in self.entries for slot in row[1::2]):
                    # The notebook keeps nothing of what it is evidence of.
                    continue
                pieces = list(row)
                pieces[1::2] = [value(piece) for piece in pieces[1::2]]
                told.append("".join(pieces))
            yield name, table, told

    def _value(self, name: str) -> str:
        known = self.values.get(name)
        if known is None:
            known = self.values[name] = self._made(name)
        return known

    def _made(self, name: str) -> str:
        kind, rest = name[0], name[1:]
        if name == "project":
            return str(self.project)
        if kind == "e":
            # One that the notebook does not keep: an id of nothing.
            return str(self.entries.get(rest) or uuid5(self.project, rest))
        if kind == "u":
            return str(self.people[rest])
        if name.startswith("#u"):
            return str(self.people[name[2:]])
        if kind == "w":
            word, number, moment = rest.split(",")
            chance = hashlib.blake2b(f"{self.project}{self.number}{number}".encode(), digest_size=4).hexdigest()
            return f"{word}_{self.moments[int(moment)]:%Y%m%d_%H%M%S}_{chance}"
        if name[0] == "#":
            # Of a run that has taken no step.
            return "0"
        raise KeyError(name)

    def _make_up(self) -> None:
        """Everything that the slots of this telling need."""
        facts, chance, values = self.tale.facts, self.chance, self.values
        self._time()
        for number, place in enumerate(facts["places"]):
            values[f"i{number}"] = str(self._id(number, place))
        for number, moment in enumerate(self.moments):
            values[f"t{number}"] = moment.isoformat()
        for number, (word, others) in enumerate(facts["vary"].items()):
            values[f"v{number}"] = chance.choice((word, *others))
        self._figures()
        sums: dict[int, list[Decimal | float]] = {}
        for number, step in enumerate(facts["steps"]):
            prompt, completion, cost = step["prompt"], step["completion"], Decimal(0)
            if step["kind"] == Generate.kind:
                model = self.models.get(step["role"], self.models["actor"])
                asked, answered = PRICES.get(model, (0.0, 0.0))
                completion = round(completion * chance.uniform(1.0, 2.2))
                prompt = round(prompt * chance.uniform(1.0, 1.15))
                cost = Decimal(f"{(prompt * asked + completion * answered) / 1e6:.8f}")
                values |= {f"k{number}": model, f"#p{number}": str(prompt), f"#c{number}": str(completion)}
                values[f"#m{number}"] = str(cost)
            values[f"#d{number}"] = f"{self.took[number]:.3f}"
            total = sums.setdefault(step["run"], [0, 0, Decimal(0), 0.0])
            for place, more in enumerate((prompt, completion, cost, self.took[number])):
                total[place] += more
        for run, total in sums.items():
            for letter, sum_ in zip("PCMA", total, strict=True):
                values[f"#{letter}{run}"] = f"{sum_:.3f}" if letter == "A" else str(sum_)

    def _time(self) -> None:
        """The moments, and how long each step took."""
        facts, chance = self.tale.facts, self.chance
        if self.moments:
            return
        gaps = [chance.uniform(*PAUSE_S) for _ in facts["times"]]
        for step in facts["steps"]:
            took = _seconds(step, chance)
            self.took.append(took)
            if took:
                gaps[step["ends"]] += took
        for place, kind in facts["marks"]:
            low, high = TAKES_MIN[kind]
            gaps[place] += 60 * chance.uniform(low, high) * (chance.random() if kind == "reviewer" else 1.0)
        gaps[0] = 0.0
        if self.until is not None and self.begins + timedelta(seconds=sum(gaps)) > self.until:
            over = sum(gaps) / max((self.until - self.begins).total_seconds(), 1.0)
            gaps = [gap / over for gap in gaps]
        at = self.begins
        for gap in gaps:
            at += timedelta(seconds=gap)
            self.moments.append(at)

    def _id(self, number: int, place: int) -> UUID:
        """An id of version 7, in the order of the recording."""
        is_shared = f"i{number}" in self.tale.facts["once"]
        key = f"{self.tale.name if is_shared else self.number}/{number}".encode()
        chance = int.from_bytes(hashlib.blake2b(key, key=self.project.bytes, digest_size=8).digest()) >> 2
        millis = int((EPOCH if is_shared else self.moments[place]).timestamp() * 1000)
        return UUID(int=(millis << 80) | (7 << 76) | ((number & 0xFFF) << 64) | (2 << 62) | chance)

    def _figures(self) -> None:
        chance, made = self.chance, dict[str, str]()
        for group, (low, high) in FIGURES.items():
            first, second = chance.randint(low, high), chance.randint(low, high)
            made |= {f"{group}:a": str(first), f"{group}:b": str(second), f"{group}:m": f"{(first + second) / 2:g}"}
        made |= {name: f"{chance.uniform(low, high):.2f}" for name, (low, high) in SHARES.items()}
        for number, wanted in enumerate(self.tale.facts["numbers"].values()):
            self.values[f"n{number}"] = made[wanted]


# Between what a critic's figures lie, by what they come to: a PASS is from 50 on, a REJECT below 30.
FIGURES = {
    "pass1": (78, 97),
    "pass2": (82, 98),
    "lenient1": (54, 82),
    "revise1": (31, 43),
    "revise2": (44, 49),
    "reject1": (4, 27),
}
SHARES = {
    "sure1": (0.64, 0.97),
    "sure2": (0.7, 0.98),
    "unsure": (0.22, 0.58),
    "given": (0.31, 0.99),
    "withheld": (0.01, 0.29),
}


def _seconds(step: Mapping[str, Any], chance: Random) -> float:
    """How long the step took; nothing while it waits for somebody, whose time is not the run's."""
    if step["is_open"] or step["kind"] in {"ask_reviewer", "await_attempt", "await_turns", "ask_person"}:
        return 0.0
    if step["kind"] == Generate.kind:
        return chance.uniform(1.1, 4.5) + float(step["completion"]) * chance.uniform(0.012, 0.035)
    if step["kind"] == RunTests.kind:
        return chance.uniform(0.25, 1.1)
    if step["kind"] == "call_tool":
        return chance.uniform(0.2, 2.6)
    return chance.uniform(0.001, 0.03)
