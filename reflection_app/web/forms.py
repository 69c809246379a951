"""Reading ordinary forms: what was typed is kept as it was, and each problem finds its field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.http import QueryDict


@dataclass
class Typed:
    """The texts of a form, and what is wrong with them by field. `""` holds what belongs to no field."""

    values: dict[str, str]
    errors: dict[str, list[str]] = field(default_factory=dict)

    def add_error(self, name: str, message: str) -> None:
        self.errors.setdefault(name, []).append(message)

    def given(self, *names: str) -> dict[str, str]:
        """Of these fields, those that were filled in."""
        return {name: self.values[name] for name in names if self.values[name]}

    @property
    def fields(self) -> dict[str, "TypedField"]:
        return {name: TypedField(name, value, self.errors.get(name, [])) for name, value in self.values.items()}

    @property
    def general(self) -> list[str]:
        """The problems of no field of this form."""
        return [message for name, found in self.errors.items() if name not in self.values for message in found]


@dataclass(frozen=True)
class TypedField:
    name: str
    value: str
    errors: list[str]


def read_typed(data: QueryDict, names: Iterable[str]) -> Typed:
    """What was typed into these fields, white space around it removed."""
    return Typed({name: data.get(name, "").strip() for name in names})


def blame(typed: Typed, errors: Iterable[Mapping[str, str]]) -> None:
    """Puts each of an action's errors at its field; `limits.token_budget` is the field `token_budget` of a form."""
    for error in errors:
        path = error["field"].split(".")
        name = next((part for part in path if part in typed.values), error["field"])
        rest = ".".join(path[path.index(name) + 1 :]) if name in path else ""
        typed.add_error(name, f"{rest}: {error['message']}" if rest else error["message"])
