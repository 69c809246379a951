"""The rubric as it is typed: criteria in an order, each field by the path that errors name it by."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.loops.rubrics import MOST_CRITERIA, Criterion, Scale
from reflection_app.reviews.models import Review
from reflection_app.rubrics.changing import newest_guidelines
from reflection_app.rubrics.models import RubricVersion
from reflection_app.web.forms import Listed, ListForm, Problems, Refused, paths_in, problems_of
from reflection_app.web.rendering import render_markdown

TEXTS = ("key", "name", "help", "scale", "weight", "points", "choices")
USUAL = {"scale": Scale.POINTS.value, "weight": "1", "points": "5"}
# Of a stripped line. White space is possessive, and a name ends with a sign: else a long line would be tried for hours.
CHOICE = re.compile(r"(.*\S)\s*+[=:：]\s*+(\d{1,3}(?:\.\d{1,10})?)\s*+%?")
NO_KEY = re.compile(r"[^a-z0-9]+")
LONGEST_KEY = 40

SCALES: dict[Scale, Promise] = {
    Scale.POINTS: gettext_lazy("Points"),
    Scale.PASS_FAIL: gettext_lazy("Pass or fail"),
    Scale.CATEGORY: gettext_lazy("Categories"),
    Scale.TEXT: gettext_lazy("Remark"),
}
SENTENCES = {
    "key": gettext_lazy("Start with a letter; then lowercase letters, digits and _ , at most 40 characters."),
    "name": gettext_lazy("Enter 1 to 120 characters."),
    "help": gettext_lazy("At most 2,000 characters."),
    "scale": gettext_lazy("Choose a scale."),
    "weight": gettext_lazy("Enter a number above 0 and at most 100."),
    "points": gettext_lazy("Enter a whole number from 2 to 10."),
    "choices": gettext_lazy("Enter at least two categories, one per line, each with its score: Ready = 100"),
    "must_hold": gettext_lazy("Remarks have no score and cannot be required."),
    "note": gettext_lazy("At most 1,000 characters."),
    "text": gettext_lazy("At most 50,000 characters."),
}


@dataclass(kw_only=True)
class CriterionForm(Listed):
    """What was typed into one criterion. `choices` are lines such as `Ready = 100`."""

    must_hold: bool = False

    def given(self, *, key: str) -> dict[str, Any]:
        filled: dict[str, Any] = {name: self.texts[name] for name in ("name", "help", "scale", "weight", "points")}
        is_category = self.texts["scale"] == Scale.CATEGORY.value
        lines = [line for line in self.texts["choices"].splitlines() if line.strip()] if is_category else []
        # A line that cannot be read is left as it is, for the schema to refuse.
        read = [
            {"name": found[1], "worth": found[2]} if (found := CHOICE.fullmatch(line.strip())) else line
            for line in lines
        ]
        return {name: text for name, text in filled.items() if text} | {
            "key": key,
            "choices": read,
            "must_hold": self.must_hold,
        }


@dataclass(kw_only=True)
class RubricForm(ListForm[CriterionForm]):
    """The whole rubric. `number` is that of the version which was shown."""

    name: str = "criteria"
    most: int = MOST_CRITERIA
    number: str = "0"

    @property
    def whole(self) -> float:
        """The sum of the weights, as far as they are numbers."""
        return sum(_weight(one) for one in self.listed)

    @property
    def shares(self) -> list[tuple[CriterionForm, float | None]]:
        """Each criterion with its part of the score; None of a remark."""
        whole = self.whole
        return [(one, _weight(one) / whole if whole and _weight(one) else None) for one in self.listed]

    def given_whole(self) -> dict[str, Any]:
        keys = keys_for([(one.texts["key"], one.texts["name"]) for one in self.listed])
        return {
            "criteria": [one.given(key=key) for one, key in zip(self.listed, keys, strict=True)],
            "note": self.values["note"],
            "number": self.number or None,
        }


def new_criterion() -> CriterionForm:
    return CriterionForm(dict.fromkeys(TEXTS, "") | USUAL)


def _weight(criterion: CriterionForm) -> float:
    try:
        return 0.0 if criterion.texts["scale"] == Scale.TEXT.value else max(0.0, float(criterion.texts["weight"]))
    except ValueError:
        return 0.0


def keys_for(named: Iterable[tuple[str, str]]) -> list[str]:
    """A key for each: the one that it has, else one made of its name, and each once among those that are made."""
    rows = list(named)
    taken = {key for key, _name in rows if key}
    keys = []
    for number, (known, name) in enumerate(rows, start=1):
        key = known
        if not key:
            plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
            base = NO_KEY.sub("_", plain).strip("_")[: LONGEST_KEY - 4]
            base = base if base[:1].isalpha() else f"criterion_{number}"
            key = next(one for one in (base, *(f"{base}_{more}" for more in range(2, 100))) if one not in taken)
            taken.add(key)
        keys.append(key)
    return keys


def rubric_form(version: RubricVersion) -> RubricForm:
    """The rubric that holds, as its form shows it."""
    rubric = version.get_rubric()
    listed = [_form_of(one) for one in rubric.criteria] if rubric else []
    return RubricForm(values={"note": ""}, listed=listed, number=str(version.number))


def _form_of(criterion: Criterion) -> CriterionForm:
    return CriterionForm(
        {
            "key": criterion.key,
            "name": criterion.name,
            "help": criterion.help,
            "scale": criterion.scale.value,
            "weight": f"{criterion.weight:g}",
            "points": str(criterion.points),
            "choices": "\n".join(f"{choice.name} = {choice.worth:g}" for choice in criterion.choices),
        },
        must_hold=criterion.must_hold,
    )


def read_rubric_form(data: QueryDict) -> RubricForm:
    """What was typed, criterion by criterion in the order of their numbers."""
    criteria = [
        CriterionForm(
            {name: data.get(f"{path}.{name}", "").replace("\r\n", "\n").strip() for name in TEXTS},
            must_hold=bool(data.get(f"{path}.must_hold")),
        )
        for path in paths_in(data, "criteria", most=MOST_CRITERIA)
    ]
    return RubricForm(
        values={"note": data.get("note", "").strip()}, listed=criteria, number=data.get("number", "")[:10]
    )


def problems_of_rubric(error: Refused) -> Problems:
    """What is wrong with single values in the words of this form."""
    problems = [dict(problem) for problem in problems_of(error)]
    for problem in problems if isinstance(error, ValidationError) else ():
        path = problem["field"].split(".")
        name = path[2] if path[0] == "criteria" and len(path) > 2 else path[-1]
        if path[0] == "criteria" and len(path) == 2:
            # Of these the scale's own check complains, and of the choices alone where they are asked for.
            is_about_text = "nothing can depend" in str(problem["message"])
            name = "must_hold" if is_about_text else "choices"
            problem["field"] = ".".join([*path, name])
        problem["message"] = str(SENTENCES.get(name, problem["message"]))
    return problems


# The rubric and the guidelines beside an item, for whoever rates.


@dataclass(frozen=True)
class RatingField:
    """One criterion with what is chosen."""

    criterion: Criterion
    value: str
    why: str
    errors: tuple[str, ...] = ()

    @property
    def options(self) -> list[tuple[str, float]]:
        """The values that can be chosen, worst first, with what each is worth."""
        return [(value, self.criterion.worth_of(value) or 0.0) for value in self.criterion.values]

    @property
    def is_text(self) -> bool:
        return self.criterion.scale is Scale.TEXT

    @property
    def is_pass_fail(self) -> bool:
        return self.criterion.scale is Scale.PASS_FAIL


def rating_fields(
    review: Review, *, typed: Mapping[str, tuple[str, str]], errors: Sequence[dict[str, str]] = ()
) -> list[RatingField]:
    """A field for each criterion, with what was `typed` of value and reason by key; none where there is no rubric."""
    # Most runs have none, and a whole task is read for it.
    is_rated = not review.is_pick and review.run.spec.get("rubric")
    rubric = review.run.get_spec().rubric if is_rated else None
    return [
        RatingField(
            criterion=criterion,
            value=typed.get(criterion.key, ("", ""))[0],
            why=typed.get(criterion.key, ("", ""))[1],
            errors=tuple(one["message"] for one in errors if one["field"] == f"ratings.{criterion.key}"),
        )
        for criterion in (rubric.criteria if rubric else ())
    ]


def beside_item(review: Review) -> dict[str, Any]:
    """The project's guidelines, which stand beside each item."""
    guidelines = newest_guidelines(review.project_id)
    shown = render_markdown(guidelines.text) if guidelines.text else ""
    return {"guidelines": guidelines if shown else None, "guidelines_shown": shown}
