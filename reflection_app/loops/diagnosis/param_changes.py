"""Parameter changes of a fix, field by field, and their application to another call.

They are applied only to tools that read, and only if they do not change what is asked for: a bound, a field's name.
Calls of tools that change something are left to a model or a reviewer.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import FailedCall, ParamChange, ParamChangeKind, changed_params
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.diagnosis.modifiers import (
    GUARD,
    SIZE_KEYS,
    Params,
    can_be_kept,
    fits,
    fitted,
    is_number,
    known_properties,
)
from reflection_app.loops.texts import cut

MOST_CHANGES = 50
LONGEST_SHOWN = 60


def changes_between(failed: Mapping[str, Any], worked: Mapping[str, Any]) -> tuple[ParamChange, ...]:
    """Return how the parameters that worked differ from those that failed, or () for too many changes."""
    gone, new = ([key for key in one if key not in other] for one, other in ((failed, worked), (worked, failed)))
    changes = []
    for key in gone:
        # A new field with the same value. Booleans are excluded, as many fields hold true.
        moved = [other for other in new if _is_same(failed[key], worked[other]) and not isinstance(failed[key], bool)]
        if len(moved) == 1:
            new.remove(moved[0])
            changes.append(ParamChange(kind=ParamChangeKind.MOVED, path=(key,), to=(moved[0],)))
        else:
            changes.append(ParamChange(kind=ParamChangeKind.DROPPED, path=(key,)))
    changes += [ParamChange(kind=ParamChangeKind.ADDED, path=(key,), after=worked[key]) for key in new]
    for key, before in failed.items():
        if key in worked and not _is_same(before, worked[key]):
            kind = _kind_of(key, before, worked[key])
            changes.append(ParamChange(kind=kind, path=(key,), before=before, after=worked[key]))
    return tuple(changes) if len(changes) <= MOST_CHANGES else ()


def _kind_of(key: str, before: Any, after: Any) -> ParamChangeKind:
    if not (key.casefold() in SIZE_KEYS and is_number(before) and is_number(after)) or before == after:
        return ParamChangeKind.REPLACED
    return ParamChangeKind.AT_MOST if after < before else ParamChangeKind.AT_LEAST


def _is_same(one: Any, other: Any) -> bool:
    # Compare as JSON, where 1 and true differ.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def carried_over(changes: Sequence[ParamChange], failed: FailedCall) -> Params | None:
    """Return the call's parameters with all applicable changes, or None if nothing would differ.

    A result that violates the tool's schema is never returned.
    """
    if not is_reading(failed.tool):
        return None
    schema = failed.schema_of(failed.tool)
    params = done_again([change for change in changes if _carries_over(change, schema)], failed.params)
    fit: Params = fitted(params, schema)
    is_usable = fit.keys() >= params.keys() and can_be_kept(fit) and (not schema or fits(fit, schema))
    return fit if is_usable and not _is_same(fit, failed.params) else None


def _carries_over(change: ParamChange, schema: Mapping[str, Any]) -> bool:
    """Return True if the change keeps the meaning of the call.

    It must not remove a guard, and may add only a value listed by the schema.
    """
    name = change.path[-1]
    if change.kind is ParamChangeKind.DROPPED:
        return not GUARD.search(name.casefold())
    if change.kind is ParamChangeKind.ADDED:
        known = known_properties(schema).get(name, {})
        choices = known.get("enum")
        listed = [*(choices if isinstance(choices, list) else ()), known.get("default"), known.get("const")]
        return change.after is not None and change.after in listed
    return True


def done_again(changes: Sequence[ParamChange], params: Mapping[str, Any]) -> Params:
    """Return the parameters with each change applied. A replacement requires the field's former value."""
    result = dict(params)
    for change in changes:
        # Older versions also recorded changes inside of values; these are ignored.
        name = change.path[0] if len(change.path) == 1 else ""
        value = result.get(name)
        match change.kind:
            case ParamChangeKind.ADDED if name:
                result.setdefault(name, change.after)
            case _ if name not in result:
                pass
            case ParamChangeKind.DROPPED:
                del result[name]
            case ParamChangeKind.MOVED if len(change.to) == 1 and change.to[0] not in result:
                result[change.to[0]] = result.pop(name)
            case ParamChangeKind.AT_MOST if is_number(value) and is_number(change.after):
                result[name] = min(value, change.after)
            case ParamChangeKind.AT_LEAST if is_number(value) and is_number(change.after):
                result[name] = max(value, change.after)
            case ParamChangeKind.REPLACED if _is_same(value, change.before):
                result[name] = change.after
    return result


def in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the differences, one line each: `limit: 500 → 100`, `+ format: csv`, `- lang`."""
    lines = []
    for one in changed_params(before, after):
        if not one.is_there:
            lines.append(f"- {one.name}")
        elif not one.was_there:
            lines.append(f"+ {one.name}: {_written(one.after)}")
        else:
            # As plain text, a number and a string of its digits would look the same.
            shown = _written if isinstance(one.before, str) == isinstance(one.after, str) else _as_json
            lines.append(f"{one.name}: {shown(one.before)} → {shown(one.after)}")
    return tuple(lines)


def _written(value: Any) -> str:
    return cut(value, LONGEST_SHOWN) if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)
