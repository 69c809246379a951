"""The rubric as it is typed: criteria in an order, each field by the path that errors name it by."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.core.permissions import Permission
from reflection_app.loops.rubrics import MOST_CRITERIA, Criterion, Scale
from reflection_app.reviews.models import Review, is_hidden
from reflection_app.rubrics.changing import examples_of, newest_guidelines
from reflection_app.web.access import Place
from reflection_app.web.forms import Form, Problems, Refused, TypedField, number_them, problems_of, rearrange
from reflection_app.web.rendering import render_markdown

TEXTS = ("key", "name", "help", "scale", "weight", "points", "choices")
USUAL = {"scale": Scale.POINTS.value, "weight": "1", "points": "5"}
PLACE = re.compile(r"criteria\.(\d{1,3})\.scale")
# Of a stripped line. White space is possessive, and a name ends with a sign: else a long line would be tried for hours.
CHOICE = re.compile(r"(.*\S)\s*+[=:：]\s*+(\d{1,3}(?:\.\d{1,10})?)\s*+%?")
NO_KEY = re.compile(r"[^a-z0-9]+")
LONGEST_KEY = 40

SCALES: dict[Scale, Promise] = {
    Scale.POINTS: gettext_lazy("Points"),
    Scale.PASS_FAIL: gettext_lazy("Pass or fail"),
    Scale.CATEGORY: gettext_lazy("Categories"),
    Scale.TEXT: gettext_lazy("A remark"),
}
SENTENCES = {
    "key": gettext_lazy("Begin with a letter; then small letters, digits and _ , at most 40."),
    "name": gettext_lazy("1 to 120 characters."),
    "help": gettext_lazy("At most 2,000 characters."),
    "scale": gettext_lazy("Choose one of the scales."),
    "weight": gettext_lazy("A number above 0, at most 100."),
    "points": gettext_lazy("A whole number from 2 to 10."),
    "choices": gettext_lazy("One a line, two at least, each with what it is worth: Ready = 100"),
    "must_hold": gettext_lazy("A remark is worth nothing, so nothing can depend on it."),
    "note": gettext_lazy("At most 1,000 characters."),
    "text": gettext_lazy("At most 50,000 characters."),
}


@dataclass
class CriterionForm:
    """What was typed into one criterion. `choices` are lines such as `Ready = 100`."""

    texts: dict[str, str]
    must_hold: bool = False
    errors: dict[str, list[str]] = field(default_factory=dict)
    position: int = 0
    is_moved: str = ""

    @property
    def number(self) -> int:
        return self.position + 1

    @property
    def path(self) -> str:
        return f"criteria.{self.position}"

    @property
    def fields(self) -> dict[str, TypedField]:
        given = self.texts | {"must_hold": ""}
        return {
            name: TypedField(f"{self.path}.{name}", text, self.errors.get(name, [])) for name, text in given.items()
        }

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
class RubricForm(Form):
    """The whole rubric. `number` is that of the version which was shown."""

    criteria: list[CriterionForm]
    number: str = "0"

    def __post_init__(self) -> None:
        number_them(self.criteria)

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors) or any(criterion.errors for criterion in self.criteria)

    @property
    def is_full(self) -> bool:
        return len(self.criteria) >= MOST_CRITERIA

    @property
    def whole(self) -> float:
        """The sum of the weights, as far as they are numbers."""
        return sum(_weight(one) for one in self.criteria)

    @property
    def shares(self) -> list[tuple[CriterionForm, float | None]]:
        """Each criterion with its part of the score; None of a remark."""
        whole = self.whole
        return [(one, _weight(one) / whole if whole and _weight(one) else None) for one in self.criteria]

    def given_whole(self) -> dict[str, Any]:
        keys = keys_for([(one.texts["key"], one.texts["name"]) for one in self.criteria])
        return {
            "criteria": [one.given(key=key) for one, key in zip(self.criteria, keys, strict=True)],
            "note": self.values["note"],
            "number": self.number or None,
        }

    def add_errors(self, errors: Problems) -> None:
        """Puts each error at its field: `criteria.2.weight` is that field of the third criterion."""
        for error in errors:
            path = error["field"].split(".")
            where, name = self.errors, path[0] if path[0] in self.values else ""
            if path[0] == "criteria" and len(path) > 1 and path[1].isdecimal() and int(path[1]) < len(self.criteria):
                where = self.criteria[int(path[1])].errors
                # What is wrong with a criterion as a whole is a matter of its scale.
                name = path[2] if len(path) > 2 else "scale"
            if error["message"] not in where.setdefault(name, []):
                where[name].append(error["message"])

    def rearrange(self, order: str) -> None:
        """Adds an empty criterion or the usual ones, takes one out, or moves one; else changes nothing."""
        if order == "usual" and not self.criteria:
            self.criteria = [_form_of(criterion) for criterion in usual_criteria()]
        elif order == "add" and not self.is_full:
            self.criteria.append(CriterionForm(dict.fromkeys(TEXTS, "") | USUAL, is_moved="added"))
        rearrange(self.criteria, order)


def _weight(criterion: CriterionForm) -> float:
    try:
        return 0.0 if criterion.texts["scale"] == Scale.TEXT.value else max(0.0, float(criterion.texts["weight"]))
    except ValueError:
        return 0.0


def usual_criteria() -> list[Criterion]:
    """Something to begin with."""
    return [
        Criterion(
            key="correct",
            name=_("Correct"),
            help=_("Nothing in it is wrong, and every claim can be checked."),
            weight=3,
            must_hold=True,
        ),
        Criterion(key="complete", name=_("Complete"), help=_("All that the task asks for is there."), weight=2),
        Criterion(
            key="clear", name=_("Clear"), help=_("Whoever gets it understands it at once."), scale=Scale.PASS_FAIL
        ),
        Criterion(key="remark", name=_("Remark"), help=_("What the author should know."), scale=Scale.TEXT),
    ]


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


def rubric_form(criteria: Sequence[Criterion], *, number: int) -> RubricForm:
    """The rubric that holds, as its form shows it."""
    return RubricForm(values={"note": ""}, criteria=[_form_of(one) for one in criteria], number=str(number))


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
    places = sorted(int(found[1]) for name in data if (found := PLACE.fullmatch(name)))[: MOST_CRITERIA + 1]
    criteria = [
        CriterionForm(
            {name: data.get(f"criteria.{place}.{name}", "").replace("\r\n", "\n").strip() for name in TEXTS},
            must_hold=bool(data.get(f"criteria.{place}.must_hold")),
        )
        for place in places
    ]
    return RubricForm(
        values={"note": data.get("note", "").strip()}, criteria=criteria, number=data.get("number", "")[:10]
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


def beside_item(place: Place, review: Review) -> dict[str, Any]:
    """The project's guidelines with their examples, and whether this item is one of those."""
    guidelines, examples = newest_guidelines(review.project_id), examples_of(review.project_id)
    return {
        "guidelines": guidelines if guidelines and guidelines.text else None,
        "guidelines_shown": render_markdown(guidelines.text) if guidelines and guidelines.text else "",
        "examples": [one for one in examples if one.review_id != review.pk],
        "kept_example": next((one for one in examples if one.review_id == review.pk), None),
        "may_curate": place.may(Permission.CURATE) and not is_hidden(review),
    }
