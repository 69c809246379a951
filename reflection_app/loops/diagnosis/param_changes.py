"""What a fix changed of the parameters, derived from the call that failed and the one that worked, and done again.

What carries over to another call is told by form: a bound, a field's name, a syntax. Which words, names or ids somebody
wants does not. Of calls that change something less carries over than of calls that read.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from difflib import SequenceMatcher
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import FailedCall, ParamChange, ParamChangeKind
from reflection_app.loops.diagnosis.error_texts import telling_text
from reflection_app.loops.diagnosis.fallback_tools import is_reading, may_call
from reflection_app.loops.diagnosis.modifiers import (
    GUARD,
    SIZE_KEYS,
    Params,
    can_be_kept,
    clamped,
    fits,
    is_number,
    known_properties,
)
from reflection_app.loops.diagnosis.queries import is_query, mended, simplified
from reflection_app.loops.diagnosis.value_forms import Form, form_between, in_form
from reflection_app.loops.texts import cut
from reflection_app.loops.tool_calls import ToolSpec

# What a query may be written as besides.
QUERY_FORMS: dict[str, Callable[[str], str]] = {"as a query": mended, "with fewer words": simplified}
EVERY = "*"
MOST_CHANGES = 50
# Of fields that are gone with those that are new, each of which may be the other.
MOST_PAIRS = 400
LONGEST_CONSTANT = 200
LONGEST_SHOWN = 60
LIKE_NAMES = 0.5
# A shorter text was worded anew rather than cut off.
SHORTEST_CUT = 40
# A call that reads may do without these; whose data is read stays as it is.
_NARROWS = re.compile(r"filter|where|limit|max|min|only|except|exclude|condition|if_")
_FORCES = re.compile(
    r"force|overwrite|override|sudo|admin|recursive|cascade|all$|yes$|auth|token|key|secret|password|role"
)

_NOT_ADDED = re.compile(r"confirm|approv|dry|preview|simul|scope|reason|account|tenant|project|branch")
# What a call is about, by the names of its fields.
_ASKED_FOR = re.compile(
    r"^(?:q|name|title|text|body|content|message|subject|city|place|location|address|person|company|symbol|ticker|to|from)$"
    r"|id$|_name$|url|path|file|mail|phone|amount|price|(?<!up)date(?!_?format)|start|end|user|城市|地点|名称|日期"
)
_AMOUNT = re.compile(
    r"amount|price|total|sum|cost|fee|budget|balance|qty|quantity|share|unit|dose|value|金额|价格|数量"
)
_SPACE = re.compile(r"\s")
LONGEST_SETTING = 40

type Path = tuple[str, ...]


def changes_between(failed: Mapping[str, Any], worked: Mapping[str, Any]) -> tuple[ParamChange, ...]:
    """How the parameters that worked come of those that failed; empty where they are the same, or too many differ."""
    before, after = dict(_leaves(failed)), dict(_leaves(worked))
    gone = [path for path in before if path not in after]
    new = [path for path in after if path not in before]
    changes: list[ParamChange] = []
    for path in [*gone, *new]:
        # An object in the place of its text, or the other way round.
        was, now = _at(failed, path), _at(worked, path)
        if _NOTHING not in (was, now) and (form := form_between(was, now, own={})) is not None:
            changes.append(_written_otherwise(path, form))
            gone = [one for one in gone if one[: len(path)] != path]
            new = [one for one in new if one[: len(path)] != path]
    if max(len(gone), len(new)) > MOST_CHANGES:
        return ()
    for path in [path for path in before if path in after]:
        changes += _value_changes(path, before[path], after[path])
        if len(changes) > MOST_CHANGES:
            return ()
    for path in list(gone) if len(gone) * len(new) <= MOST_PAIRS else ():
        # The field whose value is the same or the same in another form, and of these the one with the likest name.
        found = [(there, _value_changes(there, before[path], after[there])) for there in new]
        alike = [one for one in found if all(change.kind is ParamChangeKind.WRITTEN for change in one[1])]
        if len(gone) == len(new) == 1 and not alike:
            alike = [one for one in found if all(change.kind in _BY_FORM for change in one[1])]
        if not isinstance(before[path], str) and len(gone) + len(new) > 2:
            # Many fields hold true or 1.
            alike = [one for one in alike if _likeness(path[-1], one[0][-1]) >= LIKE_NAMES]
        if not alike:
            continue
        there, written = max(alike, key=lambda one: (not one[1], _likeness(path[-1], one[0][-1])))
        changes += [ParamChange(kind=ParamChangeKind.MOVED, path=path, to=there), *written]
        gone.remove(path)
        new.remove(there)
    words = {word for path in gone for word in _words(before[path])}
    if any(words & set(_words(after[path])) for path in new):
        # What was one field is several now, or the other way round.
        changes += [ParamChange(kind=ParamChangeKind.OTHER, path=path) for path in (*gone, *new)]
        return tuple(changes) if len(changes) <= MOST_CHANGES else ()
    changes += [ParamChange(kind=ParamChangeKind.DROPPED, path=path) for path in gone]
    changes += [ParamChange(kind=ParamChangeKind.ADDED, path=path, after=after[path]) for path in new]
    return tuple(changes) if len(changes) <= MOST_CHANGES else ()


def _leaves(value: Mapping[str, Any], at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is no object, and every empty object, with the way to it."""
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield from _leaves(one, (*at, key))
        else:
            yield (*at, key), one


def _words(value: Any) -> list[str]:
    return re.findall(r"\w{2,}", value.casefold()) if isinstance(value, str) else []


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def _value_changes(path: Path, before: Any, after: Any) -> list[ParamChange]:
    if type(before) is type(after) and before == after:
        return []
    kind = ParamChangeKind.OTHER
    was, now = _as_number(before), _as_number(after)
    if was is not None and now is not None and isinstance(before, str) == isinstance(after, str) and was != -now:
        is_form = form_between(before, after, own={}) is not None
        is_unit = max(was, now) in (1_000 * min(was, now), 60 * min(was, now)) and path[-1].casefold() not in SIZE_KEYS
        if not is_form and not is_unit:
            kind = ParamChangeKind.AT_MOST if now < was else ParamChangeKind.AT_LEAST
            return [ParamChange(kind=kind, path=path, after=after)]
    form = form_between(before, after, own=QUERY_FORMS if is_query(".".join(path)) else {})
    if form is not None:
        return [_written_otherwise(path, form)]
    is_text = isinstance(before, str) and isinstance(after, str) and len(after) >= SHORTEST_CUT
    are_lists = isinstance(before, list) and isinstance(after, list) and bool(after)
    if (is_text or are_lists) and len(after) < len(before) and before[: len(after)] == after:
        what = "text" if is_text else "list"
        return [ParamChange(kind=ParamChangeKind.SHORTENED, path=path, before=what, after=len(after))]
    if are_lists and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        of_items = [_item_changes((*path, EVERY), was, now) for was, now in pairs if was != now]
        is_one = bool(of_items) and all(one == of_items[0] for one in of_items)
        if is_one and all(change.kind in _BY_FORM for change in of_items[0]):
            return of_items[0]
    are_plain = not isinstance(before, dict | list) and not isinstance(after, dict | list)
    if are_plain and max(len(str(before)), len(str(after))) <= LONGEST_CONSTANT:
        return [ParamChange(kind=ParamChangeKind.REPLACED, path=path, before=before, after=after)]
    return [ParamChange(kind=kind, path=path)]


def _written_otherwise(path: Path, form: Form) -> ParamChange:
    return ParamChange(kind=ParamChangeKind.WRITTEN, path=path, how=form.how, before=form.before, after=form.after)


def _item_changes(path: Path, before: Any, after: Any) -> list[ParamChange]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return _value_changes(path, before, after)
    return [change.model_copy(update={"path": (*path, *change.path)}) for change in changes_between(before, after)]


_BY_FORM = {ParamChangeKind.WRITTEN, ParamChangeKind.AT_MOST, ParamChangeKind.AT_LEAST}


def _as_number(value: Any) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value.strip()):
        return int(value)
    return value if is_number(value) else None


def carried_over(changes: Sequence[ParamChange], failed: FailedCall, *, to: ToolSpec | None = None) -> Params | None:
    """The call's parameters with the same changes; None where they do not carry over, or nothing would differ.

    `to` is the tool that is called with them, where it is another one. What does not fit its schema is never given.
    """
    spec = to or next((tool for tool in failed.tools if tool.name == failed.tool), None)
    schema = spec.parameters if spec else {}
    text = telling_text(failed.error)
    context = _Call(text, known_properties(schema), schema, tool=failed.tool)
    if any(change.kind is ParamChangeKind.OTHER for change in changes):
        # What was decisive is not known, unless the error names it.
        changes = [change for change in changes if context.names(change.path)]
    params = deepcopy(dict(failed.params))
    for change in changes:
        if context.allows(change):
            _do(change, params, context)
    is_changed = json.dumps(params, sort_keys=True) != json.dumps(dict(failed.params), sort_keys=True)
    if not can_be_kept(params) or not (is_changed or to) or (schema and not fits(params, schema)):
        return None
    return params


def _name(path: Path) -> str:
    """The field's own name, of a list's items that of the list."""
    return next((part for part in reversed(path) if part != EVERY), EVERY).casefold()


class _Call:
    """What is known of the call that the changes are to be made in."""

    def __init__(self, text: str, known: Mapping[str, Params], schema: Params, *, tool: str) -> None:
        self.text, self.known, self.schema = text, known, schema
        self.reads, self.writes = is_reading(tool), not may_call(tool)

    def names(self, path: Path) -> bool:
        """Whether the error names the field."""
        name = re.escape(_name(path)[:100])
        return re.search(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])", self.text) is not None

    def schema_of(self, path: Path) -> Mapping[str, Any]:
        """What the schema says of the field; nothing where it says nothing."""
        known, here = self.known, {}
        for part in path:
            here = known.get(part, {}) if part != EVERY else {}
            known = known_properties(here)
        return here

    def allows(self, change: ParamChange) -> bool:
        """Whether such a change asks for the same as before, in this tool."""
        name = _name(change.path)
        is_allowed = change.kind is not ParamChangeKind.OTHER
        match change.kind:
            case ParamChangeKind.AT_MOST | ParamChangeKind.AT_LEAST if not self.reads:
                # An amount is no bound, whatever worked before.
                stated = self.schema_of(change.path)
                is_stated = change.after in (stated.get("maximum"), stated.get("minimum"))
                is_told = re.search(rf"(?<![\d.]){re.escape(str(change.after))}(?![\d.]*\d)", self.text)
                is_blamed = not _AMOUNT.search(name) and (not self.writes or self.names(change.path))
                is_allowed = name in SIZE_KEYS or is_stated or is_told is not None or is_blamed
            case ParamChangeKind.REPLACED:
                is_choice = change.after in _list(self.schema_of(change.path).get("enum"))
                is_allowed = is_choice or (self.reads and not _FORCES.search(name))
            case ParamChangeKind.SHORTENED:
                # Of a list whole things would be left out.
                is_allowed = self.reads or (change.before == "text" and self.names(change.path))
            case ParamChangeKind.MOVED if not self.reads:
                to = change.to[-1].casefold()
                is_risky = _FORCES.search(to) is not None or GUARD.search(to) is not None
                is_allowed = not is_risky or _likeness(name, to) >= LIKE_NAMES
            case ParamChangeKind.DROPPED if GUARD.search(name):
                is_allowed = self.reads and _NARROWS.search(name) is not None
            case ParamChangeKind.DROPPED if self.writes:
                is_unknown = bool(self.known) and change.path[0] not in self.known
                is_allowed = is_unknown or self.names(change.path)
            case ParamChangeKind.ADDED:
                is_asked_for = name in [str(one).casefold() for one in _list(self.schema.get("required"))]
                is_risky = _FORCES.search(name) is not None or _NOT_ADDED.search(name) is not None
                is_called_for = not self.writes or is_asked_for or self.names(change.path)
                is_allowed = not is_risky and is_called_for and self.is_setting(change)
        return is_allowed

    def is_setting(self, change: ParamChange) -> bool:
        """Whether what was added says how to answer, and not what is asked for: that is another call's own."""
        stated = self.schema_of(change.path)
        if change.after in (*_list(stated.get("enum")), stated.get("default", _NOTHING), stated.get("const", _NOTHING)):
            return True
        name = ".".join(change.path).casefold()
        if is_query(name) or _ASKED_FOR.search(change.path[-1].casefold()):
            return False
        is_word = (
            isinstance(change.after, str) and len(change.after) <= LONGEST_SETTING and not _SPACE.search(change.after)
        )
        return is_word or isinstance(change.after, bool | int | float)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _do(change: ParamChange, params: Params, context: _Call) -> None:
    """Makes one change, where the field is there and what it holds asks for it."""
    match change.kind:
        case ParamChangeKind.DROPPED:
            _take(params, change.path)
        case ParamChangeKind.ADDED:
            if _at(params, change.path) is _NOTHING:
                _put(params, change.path, deepcopy(change.after))
        case ParamChangeKind.MOVED:
            if _at(params, change.to) is _NOTHING and (value := _take(params, change.path)) is not _NOTHING:
                _put(params, change.to, value)
        case _:
            _rewrite(params, change.path, lambda value: _changed(value, change, context))


def _changed(value: Any, change: ParamChange, context: _Call) -> Any:
    match change.kind:
        case ParamChangeKind.AT_MOST | ParamChangeKind.AT_LEAST:
            number, bound = _as_number(value), _as_number(change.after)
            if number is None or bound is None or isinstance(value, str) != isinstance(change.after, str):
                return value
            # What schema and error say now goes before what they said then.
            name = change.path[-1]
            now = clamped({name: value}, {name: dict(context.schema_of(change.path))}, {}, context.text)[name]
            if now != value:
                return now
            is_beyond = number > bound if change.kind is ParamChangeKind.AT_MOST else number < bound
            return change.after if is_beyond else value
        case ParamChangeKind.SHORTENED:
            is_cut = isinstance(value, str | list) and isinstance(change.after, int) and len(value) > change.after
            return value[: change.after] if is_cut else value
        case ParamChangeKind.REPLACED:
            return change.after if type(value) is type(change.before) and value == change.before else value
    return in_form(value, Form(how=change.how, before=change.before, after=change.after), own=QUERY_FORMS)


_NOTHING = object()


def _at(params: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(params, dict) or part not in params:
            return _NOTHING
        params = params[part]
    return params


def _take(params: Params, path: Path) -> Any:
    """The value, taken out; an object that it leaves empty goes with it."""
    around = _at(params, path[:-1])
    if not isinstance(around, dict) or path[-1] not in around:
        return _NOTHING
    value = around.pop(path[-1])
    if not around and len(path) > 1:
        _take(params, path[:-1])
    return value


def _put(params: Params, path: Path, value: Any) -> None:
    for part in path[:-1]:
        inner = params.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        params = inner
    params[path[-1]] = value


def _rewrite(holder: Any, path: Path, change: Any) -> None:
    part, rest = path[0], path[1:]
    if part == EVERY and isinstance(holder, list):
        places: Any = range(len(holder))
    elif isinstance(holder, dict) and part in holder:
        places = [part]
    else:
        return
    for place in places:
        if rest:
            _rewrite(holder[place], rest, change)
        else:
            holder[place] = change(holder[place])


def in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """What differs between the two, a line each: `limit: 500 → 100`, `q → query`, `+ format: csv`, `- lang`."""
    lines = []
    for change in changes_between(before, after):
        name = ".".join(change.path)
        was, now = _at(before, change.path), _at(after, change.path)
        match change.kind:
            case ParamChangeKind.MOVED:
                lines.append(f"{name} → {'.'.join(change.to)}")
            case ParamChangeKind.DROPPED:
                lines.append(f"- {name}")
            case ParamChangeKind.ADDED:
                lines.append(f"+ {name}: {_written(change.after)}")
            case _ if was is _NOTHING or now is _NOTHING:
                lines.append(f"{name}: {change.how or change.kind.value.replace('_', ' ')}")
            case _:
                # A number and its text look the same.
                shown = _written if isinstance(was, str) == isinstance(now, str) else _as_json
                lines.append(f"{name}: {shown(was)} → {shown(now)}")
    return tuple(lines)


def _written(value: Any) -> str:
    return cut(value, LONGEST_SHOWN) if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)
