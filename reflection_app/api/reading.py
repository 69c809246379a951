"""Reading what was sent: bodies and query parameters become values, or a refusal that names each field."""

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import islice
from typing import Annotated, Any, Self
from weakref import WeakKeyDictionary

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from rest_framework.request import Request

from reflection_app.api.problems import TooManyValues, UnsupportedBody
from reflection_app.core.errors import MOST_ERRORS, InvalidInput
from reflection_app.loops.json_paths import MOST_VALUES, has_more_values
from reflection_app.loops.storable import is_storable, storable
from reflection_app.loops.tool_calls import DEEPEST, is_too_deep
from reflection_app.tasks.submission import invalid_input, validated

# The body is read twice where its idempotency key is of use: by what compares requests, and by what answers this one.
_READ: WeakKeyDictionary[Request, Any] = WeakKeyDictionary()
# Written out only where something is wrong: a long key above a long list would take gigabytes as text for each item.
type Path = tuple[str | int, ...]


def read_input[T: BaseModel](request: Request, schema: type[T], *, what: str, most_values: int = MOST_VALUES) -> T:
    """The body as a `schema`; no body is an empty one. Raises InvalidInput, which names the fields that are wrong."""
    body = read_body(request, most_values=most_values)
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise InvalidInput(f"The {what} must be a JSON object.")
    return validated(body, schema, what=what)


def read_query[T: BaseModel](request: Request, schema: type[T]) -> T:
    """The query parameters as a `schema`; of one that is given twice the last counts. Raises InvalidInput."""
    parameters = {name: request.query_params[name] for name in request.query_params}
    known = [field.alias or name for name, field in schema.model_fields.items()]
    unknown = [name for name in parameters if name not in known]
    if unknown:
        allowed = ", ".join(known) or "none"
        message = f"not a query parameter of this call; allowed: {allowed}"
        raise InvalidInput(
            f"Unknown query parameter. Allowed: {allowed}.",
            errors=[{"field": storable(name), "message": message} for name in unknown],
        )
    _refuse_defects(parameters)
    try:
        return schema.model_validate(parameters)
    except ValidationError as error:
        raise invalid_input(error, what="query") from None


def read_body(request: Request, *, most_values: int = MOST_VALUES) -> Any:
    """The JSON value of the body, None where there is none.

    Every text in it can be stored, every number is finite, and it is not nested too deeply for code that recurses.
    Raises InvalidInput, UnsupportedBody or TooManyValues, the last before anything is read.
    """
    body = request.body  # read whole; Django refuses one over DATA_UPLOAD_MAX_MEMORY_SIZE
    if not body.strip():
        return None
    if not is_json(request):
        raise UnsupportedBody("Send JSON, with the header Content-Type: application/json.")
    if has_more_values(body, most_values):
        raise TooManyValues(
            f"The body has more than {most_values:,} values: keys with what they hold, and items of lists. "
            "Send less at once; nothing was stored."
        )
    if request not in _READ:
        try:
            value = json.loads(body.decode(), parse_constant=_refuse_constant, parse_float=_finite)
        except RecursionError:
            raise _too_deep() from None
        except UnicodeDecodeError:
            raise InvalidInput("The body is not UTF-8.") from None
        except ValueError as error:
            raise InvalidInput(f"The body is not valid JSON: {error}") from None
        _refuse_defects(value)
        _READ[request] = value
    return _READ[request]


def media_type_of(request: Request) -> str:
    """What the body is said to be, without its parameters."""
    return (request.headers.get("Content-Type") or "").partition(";")[0].strip().lower()


def is_json(request: Request) -> bool:
    """Whether the body is said to be JSON."""
    media_type = media_type_of(request)
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _too_deep() -> InvalidInput:
    return InvalidInput(f"The body is nested more than {DEEPEST} levels deep.")


def _refuse_defects(value: Any) -> None:
    # The walk that knows where it is takes five times as long, and is needed for what is refused alone.
    if is_too_deep(value):
        raise _too_deep()
    if is_storable(value):
        return
    paths = _unstorable(value)
    errors = [
        {
            "field": ".".join(storable(str(part)) for part in path) or "body",
            "message": "holds a NUL character or half a surrogate pair, which cannot be stored",
        }
        for path in islice(paths, MOST_ERRORS)
    ]
    raise InvalidInput("Some text cannot be stored; nothing was.", errors=errors, more=sum(1 for _ in paths))


def _unstorable(value: Any) -> Iterator[Path]:
    """The paths of texts that cannot be kept. Walks without recursion, since the depth is what the sender chose."""
    left: list[tuple[Path, Any]] = [((), value)]
    while left:
        path, one = left.pop()
        if isinstance(one, str) and not is_storable(one):
            yield path
        elif isinstance(one, list):
            left += [((*path, index), item) for index, item in enumerate(one)]
        elif isinstance(one, dict):
            for key, item in one.items():
                if not is_storable(key):
                    yield (*path, key)
                left.append(((*path, key), item))


# The base of every answer's form, and the few kinds of value that REST writes its own way.


class Answer(BaseModel):
    """A part of an answer. Every field is always there; what does not apply is null."""

    model_config = ConfigDict(
        frozen=True, from_attributes=True, validate_by_name=True, json_schema_serialization_defaults_required=True
    )

    @classmethod
    def from_row(cls, row: Any, **beside: Any) -> Self:
        """The answer about a row, by its attributes; `beside` is what it has not, or what is told otherwise."""
        if not beside:
            return cls.model_validate(row)
        sources = _sources_of(cls)
        return cls.model_validate(_RowWith(row, {sources.get(name, name): value for name, value in beside.items()}))


@cache
def _sources_of(answer: type[Answer]) -> dict[str, str]:
    """By which attribute of the row a field is read, where that is not its own name."""
    aliases = {name: field.validation_alias for name, field in answer.model_fields.items()}
    return {name: alias for name, alias in aliases.items() if isinstance(alias, str)}


class _RowWith:
    def __init__(self, row: Any, known: dict[str, Any]) -> None:
        self._row = row
        self.__dict__ |= known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


class PageAnswer(Answer):
    """One page of a list: follow `next` until it is null."""

    next: str | None = Field(description="URL of the next page, or null")
    previous: str | None = Field(description="URL of the previous page, or null")


def money(amount: Decimal) -> str:
    """The amount in USD, never with an exponent, which str() would give to small ones."""
    return f"{amount:.8f}"


Money = Annotated[
    str,
    Field(pattern=r"^\d+(\.\d+)?$", examples=["0.00123400"]),
    # A row that was just made has its default, a plain 0.
    BeforeValidator(lambda amount: money(Decimal(amount)) if isinstance(amount, (Decimal, int)) else amount),
]
# Of fields that are read from rows' attributes: what the row keeps otherwise than the answer tells it.
KnownCost = Money | None
OrNull = BeforeValidator(lambda value: value or None)
TextOrNull = Annotated[str | None, OrNull]
Username = Annotated[str | None, BeforeValidator(lambda user: user.get_username() if user else None)]
Related = BeforeValidator(lambda rows: list(rows.all()) if hasattr(rows, "all") else rows)


def part(name: str) -> BeforeValidator:
    """The attribute of what the row refers to, such as the number of its attempt; null where it refers to nothing."""
    return BeforeValidator(lambda other: getattr(other, name, other))
