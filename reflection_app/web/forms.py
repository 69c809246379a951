"""Reading ordinary forms: what was typed is kept as it was, and each problem finds its field."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from reflection_app.core.errors import InvalidInput, capped
from reflection_app.loops.json_paths import MOST_VALUES, has_more_values
from reflection_app.tasks.submission import invalid_input, too_many_errors


@dataclass(frozen=True)
class TypedField:
    name: str
    value: str
    errors: list[str]


class Offered(NamedTuple):
    """One of the values that a field offers, and what it means."""

    value: str
    words: str | Promise


type Refused = ValidationError | InvalidInput
type Problems = Sequence[dict[str, Any]]


@dataclass
class Form:
    """The texts of a form, and what is wrong with them by field. `""` holds what belongs to no field."""

    values: dict[str, str]
    errors: dict[str, list[str]] = field(default_factory=dict)

    def add_error(self, name: str, message: str) -> None:
        self.errors.setdefault(name, []).append(message)

    def add_errors(self, errors: Problems) -> None:
        """Puts each of an action's errors at its field; `limits.token_budget` is the field `token_budget` of a form."""
        for error in errors:
            path = error["field"].split(".")
            name = next((part for part in path if part in self.values), error["field"])
            rest = ".".join(path[path.index(name) + 1 :]) if name in path else ""
            self.add_error(name, f"{rest}: {error['message']}" if rest else error["message"])

    def collect_errors(self, words: "Callable[[Refused], Problems] | None" = None) -> "CollectErrors":
        """A `with` in which what cannot be accepted ends the block and becomes errors of this form, in these words."""
        return CollectErrors(self, words or problems_of)

    def given(self, *names: str) -> dict[str, str]:
        """Of these fields, those that were filled in."""
        return {name: self.values[name] for name in names if self.values[name]}

    @property
    def status(self) -> int:
        """That of the page which shows the form."""
        return 400 if self.errors else 200

    @property
    def fields(self) -> dict[str, TypedField]:
        return {name: TypedField(name, value, self.errors.get(name, [])) for name, value in self.values.items()}

    @property
    def general(self) -> list[str]:
        """The problems of no field of this form."""
        return [message for name, found in self.errors.items() if name not in self.values for message in found]


@dataclass(frozen=True)
class CollectErrors:
    """A class, for of a generator's context manager mypy does not know that the block may end early."""

    form: Form
    words: Callable[[Refused], Problems]

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, ValidationError | InvalidInput):
            return False
        self.form.add_errors(self.words(error))
        return True


# Forms of things in an order, each of which can be moved and taken out.

ORDER = re.compile(r"(remove|up|down)\.(\d{1,3})")


@dataclass
class Listed:
    """One of the things, with its texts as they were typed. `is_moved` says where it just went, for the focus."""

    texts: dict[str, str]
    errors: dict[str, list[str]] = field(default_factory=dict)
    # Such as `rules.2`.
    path: str = ""
    position: int = 0
    is_moved: str = ""

    @property
    def number(self) -> int:
        return self.position + 1

    @property
    def fields(self) -> dict[str, TypedField]:
        """Those of texts, and all others of which something is wrong."""
        named = dict.fromkeys(self.errors, "") | self.texts
        return {
            name: TypedField(f"{self.path}.{name}", text, self.errors.get(name, [])) for name, text in named.items()
        }


@dataclass(kw_only=True)
class ListForm[Thing: Listed](Form):
    """A form with things in an order: an error of `rules.2.share` is one of that field of the third of the `rules`."""

    name: str
    most: int
    listed: list[Thing]

    def __post_init__(self) -> None:
        for position, one in enumerate(self.listed):
            one.position, one.path = position, f"{self.name}.{position}"

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors) or any(one.errors for one in self.listed)

    @property
    def is_full(self) -> bool:
        return len(self.listed) >= self.most

    def add_errors(self, errors: Problems) -> None:
        for error in errors:
            path = error["field"].split(".")
            where, name = self.errors, path[0]
            if path[0] == self.name and len(path) > 2 and int(path[1]) < len(self.listed):
                where, name = self.listed[int(path[1])].errors, path[2]
            if error["message"] not in where.setdefault(name, []):
                where[name].append(error["message"])

    def rearrange(self, order: str, *, new: Thing) -> None:
        """Adds the `new` one, takes one out, or moves one, as the button `up.2` says; else nothing is moved."""
        if order == "add" and not self.is_full:
            new.is_moved = "added"
            self.listed.append(new)
        elif (found := ORDER.fullmatch(order)) and (index := int(found[2])) < len(self.listed):
            moved = self.listed.pop(index)
            if found[1] != "remove":
                self.listed.insert(max(0, index - 1) if found[1] == "up" else index + 1, moved)
                moved.is_moved = found[1]
        self.__post_init__()


def paths_in(data: Mapping[str, str], name: str, *, most: int) -> list[str]:
    """The paths of the things that were typed, such as `rules.2`, in order; at most one more than `most`."""
    found = {int(at[1]) for key in data if (at := re.fullmatch(rf"{name}\.(\d{{1,3}})\.\w+", key))}
    return [f"{name}.{place}" for place in sorted(found)[: most + 1]]


def read_form(request: HttpRequest, names: Iterable[str], initial: Mapping[str, str] | None = None) -> Form:
    """What was typed into these fields, white space around it removed; before anything was, `initial`."""
    if request.method == "POST":
        return Form({name: request.POST.get(name, "").strip() for name in names})
    return Form({name: (initial or {}).get(name, "") for name in names})


def read_text(request: HttpRequest, name: str) -> str:
    """A longer text that was typed, its line ends as they were before the browser made CR LF of them."""
    return request.POST.get(name, "").replace("\r\n", "\n")


def read_input[Read: BaseModel](model: type[Read], typed: Mapping[str, Any], *, refusal: str = "") -> Read:
    """What was typed, as the action takes it. Raises InvalidInput, with a plain sentence for each field.

    For pages that show the refusal itself; Form.collect_errors needs no such error.
    """
    try:
        return model.model_validate(typed)
    except ValidationError as error:
        raise InvalidInput(refusal, errors=list(problems_of(error))) from None


# What pydantic complains about, in the words of the pages: by field where the field says it best, else by kind.

SHARE = gettext_noop("A number from 0 to 1.")
SCORE = gettext_noop("Enter a number from 0 to 100.")
AMOUNT = gettext_noop("An amount above 0, with at most six decimals.")
SENTENCES = {
    "objective": gettext_noop("Describe the task."),
    "mode": gettext_noop("Choose a mode."),
    "external_id": gettext_noop("At most 200 characters."),
    "max_iterations": gettext_noop("A whole number from 1 to 20."),
    "token_budget": gettext_noop("A whole number from 1 to 100,000,000."),
    "time_budget_s": gettext_noop("A number above 0, at most 86,400."),
    "cost_budget_usd": AMOUNT,
    "confidence_below": SHARE,
    "audit_share": SHARE,
    "score_below": SCORE,
    "pass_from": SCORE,
    "revise_from": gettext_noop("A number from 0 to 100, not above the score that passes."),
    "max_supplements": gettext_noop("A whole number from 0 to 20."),
    "temperature": gettext_noop("A number from 0 to 2."),
    "top_p": gettext_noop("A number above 0, at most 1."),
    "max_retries": gettext_noop("A whole number from 0 to 5."),
    "max_cost_usd": AMOUNT,
    "reflection": gettext_noop("Choose one of these."),
    "most": gettext_noop("A whole number from 1 to 20."),
    "holdout_share": gettext_noop("A number from 0 to 0.5."),
    "rules_most": gettext_noop("A whole number from 1 to 100."),
    "rules_least_occurrences": gettext_noop("Enter a whole number from 1 to 1,000."),
    "decision": gettext_noop("Choose agree or overrule."),
    "verdict": gettext_noop("Choose pass, revise or reject."),
    "attempt": gettext_noop("Choose one of the attempts."),
    "score": gettext_noop("Enter a score from 0 to 100."),
    "lease_token": gettext_noop("Assign the review to yourself first."),
    "reason": gettext_noop("A reason has at most 10,000 characters."),
    "name": gettext_noop("Describe what the key is for, in at most 120 characters."),
    "days": gettext_noop("A whole number from 1 to 3650, or leave empty."),
    "scopes": gettext_noop("Choose at least one scope."),
    "description": gettext_noop("Describe the issue."),
}
KINDS = {
    "missing": gettext_noop("This field is required."),
    "extra_forbidden": gettext_noop("Unknown field."),
    "model_type": gettext_noop("Must be a JSON object, as in the examples."),
    "dict_type": gettext_noop("Must be a JSON object."),
    "tuple_type": gettext_noop("Must be a list."),
    "list_type": gettext_noop("Must be a list."),
    "string_type": gettext_noop("Must be a quoted string."),
    "string_pattern_mismatch": gettext_noop("Must be a function name."),
}


# Fields that are called like those of other forms.
OF_AN_ENTRY = {
    "name": gettext_noop("Enter a name of at most 200 characters."),
    "tags": gettext_noop("At most 20 tags of up to 60 characters each."),
}


def problems_of(error: Refused) -> Problems:
    """What an action or a model has against what it was given: each field with a sentence, in the order of the form."""
    if isinstance(error, InvalidInput):
        return error.errors or [{"field": "", "message": str(error)}]
    if too_many := too_many_errors(error):
        return too_many
    return capped([_plain_problem(problem) for problem in error.errors(include_url=False, include_input=False)])


def problems_of_entry(error: ValidationError) -> Problems:
    """The same for the form of an entry."""
    return [
        problem | {"message": _(own)} if (own := OF_AN_ENTRY.get(problem["field"].partition(".")[0])) else problem
        for problem in problems_of(error)
    ]


def api_problems_of(error: Refused) -> Problems:
    """The same in the words of the interface, which name what pydantic expects."""
    return (error if isinstance(error, InvalidInput) else invalid_input(error, what="")).errors


def plain_problems_of(error: Refused) -> Problems:
    """The same, an action's in the words of the pages, too."""
    if isinstance(error, ValidationError):
        return problems_of(error)
    return [
        problem | {"message": _(SENTENCES[problem["field"]])} if SENTENCES.get(problem["field"]) else problem
        for problem in error.errors
    ]


def _plain_problem(problem: ErrorDetails) -> dict[str, str]:
    """A model's problem as a sentence of the pages."""
    place, kind, message = problem["loc"], problem["type"], problem["msg"].removeprefix("Value error, ")
    if kind in {"string_too_long", "too_long"}:
        words = _("At most %(most)s characters.") if kind == "string_too_long" else _("At most %(most)s items.")
        message = words % {"most": f"{problem['ctx']['max_length']:,}"}
    else:
        # What is wrong inside of the tests, the kind says; of a form's own fields, what they should hold.
        is_own = bool(place) and place[0] not in {"tests", "output_schema", "requirements"}
        sentence = (SENTENCES.get(str(place[-1])) if is_own else None) or KINDS.get(kind)
        message = _(sentence) if sentence else message
    if place[:1] == ("issues",) and len(place) > 1:
        message = _("Issue %(number)s: %(message)s") % {"number": int(place[1]) + 1, "message": message}
    return {"field": ".".join(str(part) for part in place), "message": message}


# JSON that somebody typed into a field of a form.


class NotJson(ValueError):
    """It cannot be read; says why in a sentence."""


def read_typed_json(text: str) -> Any:
    """The value. Raises NotJson."""
    if has_more_values(text.encode(errors="surrogatepass")):
        raise NotJson(_("Not read: more than %(most)s values.") % {"most": f"{MOST_VALUES:,}"})
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = {"msg": error.msg, "lineno": error.lineno, "colno": error.colno}
        raise NotJson(_("Invalid JSON: %(msg)s, line %(lineno)s, column %(colno)s.") % place) from None
    except (ValueError, RecursionError):
        why = _("Invalid JSON: a number is too long, or nesting is too deep.")
        raise NotJson(why) from None
