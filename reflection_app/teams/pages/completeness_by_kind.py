"""The rows of the settings page in which a project sets the completeness check for kinds of tasks."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.loops.completeness.checks import MOST_KINDS, CheckChoice
from reflection_app.loops.completeness.sampling import When
from reflection_app.web.forms import Form, Problems, Refused, TypedField, problems_of

LONGEST_KIND = 60
SHARES = ("share", "least_share", "holdout_share")
NUMBERS = (*SHARES, "max_supplements", "temperature", "top_p", "max_retries")
# What supplements have to be worth and may cost.
LINES = ("least_worth", "max_cost_per_completed_usd", "max_cost_usd")
# Kept as shares of one; typed and shown in per cent.
PERCENT = frozenset({*SHARES, "least_worth"})
SENTENCES = dict.fromkeys(PERCENT, gettext_lazy("A number from 0 to 100.")) | {
    "holdout_share": gettext_lazy("A number from 0 to 50.")
}
SWITCHES = ("enabled", "look_again")
PARTS = ("kind", *SWITCHES, "when", *NUMBERS, *LINES)
SWITCH = ("on", "off")
OFTEN = tuple(when.value for when in When)
WORDS = {True: "on", False: "off", None: ""}
_FIELD = re.compile(r"kinds\.(\d{1,3})\.kind")


@dataclass(frozen=True)
class KindRow:
    """One row: the kind, whether it is checked and looked at again (`on`, `off`, or as the project has it), how often,
    and the numbers."""

    kind: TypedField
    enabled: TypedField
    when: TypedField
    share: TypedField
    least_share: TypedField
    holdout_share: TypedField
    max_supplements: TypedField
    temperature: TypedField
    top_p: TypedField
    max_retries: TypedField
    least_worth: TypedField
    max_cost_per_completed_usd: TypedField
    max_cost_usd: TypedField
    look_again: TypedField


def texts_of(chosen: Mapping[str, CheckChoice]) -> dict[str, str]:
    """The texts of the rows' fields for what is saved, with an empty row below."""
    texts = {}
    for number, (kind, choice) in enumerate([*chosen.items(), ("", CheckChoice())]):
        values = choice.model_dump() | {"kind": kind}
        values |= {name: WORDS[values[name]] for name in SWITCHES}
        for part in PARTS:
            texts[f"kinds.{number}.{part}"] = as_typed(part, values[part])
    return texts


def as_typed(name: str, value: object) -> str:
    """A number as its field shows it; empty for none."""
    if value is None:
        return ""
    if name in PERCENT and isinstance(value, float):
        value = round(value * 100, 6)
    text = str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_meant(typed: Mapping[str, str]) -> dict[str, object]:
    """What was typed, the per cent as the share that they are; what is no number is left to be refused."""
    values: dict[str, object] = dict(typed)
    for name in PERCENT & typed.keys():
        with suppress(ValueError):
            values[name] = float(typed[name]) / 100
    return values


def problems_in_percent(error: Refused) -> Problems:
    """What is wrong with settings of the check, in the words of this form."""
    return [
        problem | {"message": str(SENTENCES.get(problem["field"], problem["message"]))}
        for problem in problems_of(error)
    ]


def names_in(posted: QueryDict) -> list[str]:
    """The names of the rows' fields in what was sent."""
    numbers = sorted({int(match[1]) for name in posted if (match := _FIELD.fullmatch(name))})
    return [f"kinds.{number}.{part}" for number in numbers[: MOST_KINDS + 1] for part in PARTS]


def choices_in(form: Form) -> dict[str, CheckChoice]:
    """What was typed, by kind; what is wrong goes to its field. A row without a kind that says nothing is none."""
    choices: dict[str, CheckChoice] = {}
    for row in rows_of(form):
        kind = row.kind.value
        typed = {part: getattr(row, part).value for part in (*NUMBERS, *LINES) if getattr(row, part).value}
        typed |= {part: getattr(row, part).value for part in SWITCHES if getattr(row, part).value in SWITCH}
        if row.when.value in OFTEN:
            typed["when"] = row.when.value
        if not kind:
            if typed:
                form.add_error(row.kind.name, _("Name the kind of task, or clear the row."))
            continue
        if len(kind) > LONGEST_KIND:
            form.add_error(row.kind.name, _("At most %(most)s characters.") % {"most": LONGEST_KIND})
        if kind in choices:
            form.add_error(row.kind.name, _("This kind is named twice."))
        try:
            choices[kind] = CheckChoice.model_validate(as_meant(typed))
        except ValidationError as error:
            for problem in problems_in_percent(error):
                form.add_error(row.kind.name.removesuffix("kind") + problem["field"], problem["message"])
    if len(choices) > MOST_KINDS:
        form.add_error("", _("At most %(most)s kinds of tasks can have settings of their own.") % {"most": MOST_KINDS})
    return {kind: choice for kind, choice in choices.items() if choice.chosen}


def rows_of(form: Form) -> list[KindRow]:
    fields = form.fields
    starts = [name.removesuffix("kind") for name in fields if _FIELD.fullmatch(name)]
    return [KindRow(**{part: fields[start + part] for part in PARTS}) for start in starts]
