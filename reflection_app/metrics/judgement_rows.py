"""Judgements as they are handed in: lines of JSON, each what one critic and some people said of one thing."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from reflection_app.core.errors import InvalidInput, shortened
from reflection_app.loops.json_bounds import has_more_values
from reflection_app.loops.storable import Text, storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Verdict
from reflection_app.tasks.submission import invalid_input

MOST_ROWS = 20_000
MOST_PEOPLE = 100
MOST_VALUES_OF_A_ROW = 10_000
LONGEST_REASON = 300
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class CriticSaid(Value):
    model: Name
    verdict: Verdict
    confidence: Confidence | None = None
    prompt_version: Text = Field(default="", max_length=40)


class PersonSaid(Value):
    name: Name
    verdict: Verdict


class JudgementRow(Value):
    """What one critic said of one thing, and what people did. A further critic of the same thing has a row of its own.

    `people` may be left out where another row of the same `external_id` names them.
    """

    external_id: Name
    critic: CriticSaid
    people: tuple[PersonSaid, ...] = Field(default=(), max_length=MOST_PEOPLE)
    content: Text = Field(default="", max_length=100_000)

    @model_validator(mode="after")
    def check_everybody_speaks_once(self) -> "JudgementRow":
        names = [person.name for person in self.people]
        if len(set(names)) < len(names):
            raise ValueError("people: somebody is named twice")
        return self


@dataclass(frozen=True)
class NumberedRow:
    """A row with the number of its line, from 1."""

    line: int
    row: JudgementRow


@dataclass(frozen=True)
class Refused:
    """A line that cannot be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class ReadRows:
    rows: tuple[NumberedRow, ...]
    refused: tuple[Refused, ...]


NUMBERED = TypeAdapter(list[NumberedRow])
REFUSED = TypeAdapter(list[Refused])


def read_lines(content: bytes) -> ReadRows:
    """The rows of a file of JSON lines; blank lines are none. Raises InvalidInput where there are too many, or none."""
    lines = ((number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip())
    return _read((number, _value_of(line)) for number, line in lines)


def read_values(values: Iterable[Any]) -> ReadRows:
    """The rows of a list, numbered from 1. Raises InvalidInput where there are too many, or none."""
    return _read(enumerate(values, start=1))


class _NoJson(ValueError):
    """The line is no JSON; says why."""


def _value_of(line: bytes) -> Any:
    if has_more_values(line, MOST_VALUES_OF_A_ROW):
        return _NoJson(
            _("This is no row: as JSON it has more than %(most)s values.") % {"most": f"{MOST_VALUES_OF_A_ROW:,}"}
        )
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf").decode())
    except (ValueError, RecursionError) as error:
        return _NoJson(_("This is no JSON: %(why)s") % {"why": error})


def _read(numbered: Iterable[tuple[int, Any]]) -> ReadRows:
    rows: list[NumberedRow] = []
    refused: list[Refused] = []
    for count, (line, value) in enumerate(numbered, start=1):
        if count > MOST_ROWS:
            why = _("At most %(most)s rows in one import; put more into several.") % {"most": f"{MOST_ROWS:,}"}
            raise InvalidInput(why, errors=[{"field": "rows", "message": why}])
        try:
            rows.append(NumberedRow(line, _row_of(value)))
        except ValueError as error:
            refused.append(Refused(line, _why(error)))
    if not rows and not refused:
        why = _("There is no row in it.")
        raise InvalidInput(why, errors=[{"field": "rows", "message": why}])
    told = tuple(_contradicting(rows))
    lines = {one.line for one in told}
    kept = tuple(row for row in rows if row.line not in lines)
    return ReadRows(kept, tuple(sorted((*refused, *told), key=lambda one: one.line)))


def _row_of(value: Any) -> JudgementRow:
    if isinstance(value, _NoJson):
        raise value
    if not isinstance(value, dict):
        raise ValueError(_("A row is a JSON object."))
    return JudgementRow.model_validate(value)


def _why(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return storable(shortened(str(error), LONGEST_REASON))
    told = "; ".join(f"{one['field']}: {one['message']}" for one in invalid_input(error, what="row").errors[:3])
    return storable(shortened(told, LONGEST_REASON))


def _contradicting(rows: Iterable[NumberedRow]) -> Iterator[Refused]:
    """The rows that say of the same thing something else than an earlier row does."""
    critics: dict[tuple[str, str, str], NumberedRow] = {}
    people: dict[tuple[str, str], tuple[int, Verdict]] = {}
    contents: dict[str, NumberedRow] = {}
    for one in rows:
        row = one.row
        said = critics.setdefault((row.external_id, row.critic.model, row.critic.prompt_version), one)
        if said.row.critic != row.critic:
            yield _other(one, said.line, row.critic.model)
            continue
        earlier = [(person, people.get((row.external_id, person.name))) for person in row.people]
        clash = next(((person, told) for person, told in earlier if told and told[1] != person.verdict), None)
        if clash is not None:
            yield _other(one, clash[1][0], clash[0].name)
            continue
        if row.content and (held := contents.setdefault(row.external_id, one)).row.content != row.content:
            yield Refused(one.line, _("Line %(line)s has another content for the same thing.") % {"line": held.line})
            continue
        for person in row.people:
            people.setdefault((row.external_id, person.name), (one.line, person.verdict))


def _other(one: NumberedRow, line: int, who: str) -> Refused:
    told = _("Line %(line)s says otherwise of what %(who)s said of it.") % {"line": line, "who": shortened(who, 60)}
    return Refused(one.line, told)
