"""A task as it is handed in, by REST or by the page, checked field by field."""

from decimal import Decimal
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import AfterValidator, AliasChoices, BaseModel, Field, JsonValue, ValidationError, model_validator
from pydantic.fields import FieldInfo

from reflection_app.core.errors import MOST_ERRORS, InvalidInput
from reflection_app.core.json_sizes import at_most
from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import MOST_ATTEMPTS, Execution, Limits, Mode
from reflection_app.loops.tool_arguments import DEEPEST, is_too_deep
from reflection_app.loops.tool_calls import ToolCall
from reflection_app.loops.values import Value
from reflection_app.tasks.reflection_input import AnyReflection, Files, ReflectionInput
from reflection_app.tasks.task_rules import check_it_can_run

# Each list of tasks repeats the metadata of all its tasks, and each attempt is given all of the tests.
LARGEST_METADATA = 16_384
LARGEST_TESTS = 1_000_000
LARGEST_SCHEMA = 200_000
# Pydantic writes all of its complaints down, or none.
MOST_COLLECTED = 10_000


def _storable(value: Any) -> Any:
    if not is_storable(value):
        raise ValueError("holds a NUL character, half a surrogate pair or an infinite number, which cannot be stored")
    return value


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


class LimitsOverride(Value):
    """Limits of this task alone; what is left out comes from the project."""

    max_iterations: int | None = Field(default=None, ge=1, le=MOST_ATTEMPTS)
    token_budget: int | None = Field(default=None, ge=1, le=100_000_000)
    time_budget_s: float | None = Field(default=None, gt=0, le=86_400)
    cost_budget_usd: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)] | None = None

    def over(self, limits: Limits) -> Limits:
        """`limits` with these in front."""
        return Limits.model_validate(limits.model_dump() | self.model_dump(exclude_none=True))


class TaskSubmission(Value):
    """One objective and how it is to be worked on."""

    objective: Annotated[str, Field(min_length=1, max_length=200_000), AfterValidator(_said)]
    mode: Mode = Mode.ADAPTIVE
    kind: str = Field(default="", max_length=60)
    agent: str = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    tests: Annotated[CodeTests, at_most(LARGEST_TESTS)] | None = None
    output_schema: Annotated[dict[str, Any], at_most(LARGEST_SCHEMA)] | None = None
    requirements: Annotated[Requirements, at_most(LARGEST_SCHEMA)] | None = None
    phase: str = Field(default="", max_length=120)
    tools: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=50)] = ()
    tool_call: ToolCall | None = None
    files: Files = ()
    reflection: AnyReflection = ReflectionInput()
    chain_of_thought: bool = False
    limits: LimitsOverride = LimitsOverride()
    execution: Execution = Execution.MANAGED
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "TaskSubmission":
        dumped = self.model_dump(mode="json")
        if is_too_deep(dumped):
            raise ValueError(f"is nested more than {DEEPEST} levels deep")
        _storable(dumped)
        return self


def read_submission(body: Any) -> TaskSubmission:
    """The submission in `body`. Raises InvalidInput, which names every field that is wrong."""
    if not isinstance(body, dict):
        raise InvalidInput(_("A task is a JSON object with at least an objective."))
    submission = validated(body, TaskSubmission, what=_("task"))
    check_it_can_run(submission)
    return submission


def validated[T: BaseModel](body: dict[str, Any], schema: type[T], *, what: str) -> T:
    """The body as a `schema`. Raises InvalidInput, which names the fields that are wrong, at a bounded cost."""
    if len(body) > len(schema.model_fields) + MOST_ERRORS and schema.model_config.get("extra") == "forbid":
        _refuse_unknown(body, schema, what=what)
    try:
        return schema.model_validate(body)
    except ValidationError as error:
        raise invalid_input(error, what=what) from None


def _refuse_unknown(body: dict[str, Any], schema: type[BaseModel], *, what: str) -> None:
    known = {name for field, info in schema.model_fields.items() for name in (field, *_aliases(info))}
    unknown = [name for name in body if name not in known]
    if len(unknown) > MOST_ERRORS:
        raise InvalidInput(
            _("The %(what)s was not accepted; nothing was stored.") % {"what": what},
            errors=[{"field": name, "message": _("There is no such field.")} for name in unknown[:MOST_ERRORS]],
            more=len(unknown) - MOST_ERRORS,
        )


def _aliases(info: FieldInfo) -> list[object]:
    alias = info.validation_alias
    return list(alias.choices) if isinstance(alias, AliasChoices) else [alias]


def too_many_errors(error: ValidationError) -> list[dict[str, str]]:
    """How many errors there are, where naming them takes long; else none."""
    count = error.error_count()
    if count <= MOST_COLLECTED:
        return []
    return [{"field": "", "message": _("%(count)s things are wrong, too many to name") % {"count": f"{count:,}"}}]


def invalid_input(error: ValidationError, *, what: str) -> InvalidInput:
    """Pydantic's complaints in the form that every interface of ours uses."""
    if too_many := too_many_errors(error):
        return InvalidInput(_("The %(what)s was not accepted; nothing was stored.") % {"what": what}, errors=too_many)
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    # A list of which an item was refused is called too short, since pydantic counts those that were not.
    with_bad_items = {problem["loc"][:1] for problem in problems if len(problem["loc"]) > 1}
    errors = [
        {
            "field": ".".join(str(part) for part in problem["loc"]),
            "message": problem["msg"].removeprefix("Value error, "),
        }
        for problem in problems
        if problem["type"] != "too_short" or problem["loc"] not in with_bad_items
    ]
    return InvalidInput(_("The %(what)s was not accepted; nothing was stored.") % {"what": what}, errors=errors)
