"""A task as it is handed in, by REST or by the page, checked field by field."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from desk_sandbox.code_tests import CodeTests
from desk_sandbox.scripts.names import check_script
from desk_sandbox.scripts.syntax import ScriptRefused
from reflection_app.core.errors import MOST_ERRORS, InvalidInput
from reflection_app.core.json_sizes import at_most
from reflection_app.loops.completeness.checks import CheckChoice
from reflection_app.loops.json_paths import PathRefused, parse_path
from reflection_app.loops.json_schema import SchemaRefused, check_schema
from reflection_app.loops.project_settings import ReflectionMode
from reflection_app.loops.requirements import Counted, Requirements
from reflection_app.loops.storable import AgentName, is_storable
from reflection_app.loops.task_spec import MOST_ATTEMPTS, Execution, Limits, Mode, ModelRole, ReviewDemand, TaskKind
from reflection_app.loops.tool_calls import DEEPEST, ToolCall, is_too_deep
from reflection_app.loops.values import Value

# What is wrong with minimum requirements as they were handed in, by field.


def problems_of(requirements: Requirements) -> Iterator[tuple[str, str]]:
    """Each field that no answer could be checked by, with the reason."""
    if requirements.schema_ is not None:
        try:
            check_schema(requirements.schema_)
        except SchemaRefused as error:
            yield "requirements.schema", str(error)
    for number, path in enumerate(requirements.required_fields):
        yield from _problems_of_path(f"requirements.required_fields.{number}", path)
    for number, count in enumerate(requirements.counts):
        field = f"requirements.counts.{number}"
        yield from _problems_of_path(f"{field}.path", count.path)
        if count.where and count.of is not Counted.ITEMS:
            yield f"{field}.where", f"only items can be told apart by their values, not {count.of.value}"


def _problems_of_path(field: str, path: str) -> Iterator[tuple[str, str]]:
    try:
        parse_path(path)
    except PathRefused as error:
        yield field, f"{path!r} is no path: {error}"


# What has to come with a task for its mode to make sense, checked before anything is stored.


# Each decides in a way of its own whether an attempt is right; of two, one would be ignored.
SIGNALS = ("tests", "output_schema", "tool_call", "tools")
# What is handed in by a call of its own, and which.
OTHER_CALLS = {
    Mode.INLINE_REFLECTION: "is for sessions of an agent: post a transcript instead (POST /transcripts)",
    Mode.TOOL_DIAGNOSIS: "is for a tool that failed: post a tool failure instead (POST /tool-failures)",
    Mode.ERROR_REFLECTION: "is what the desk does after a run or a session: ask for it by `reflection`",
    Mode.MEMORY_REFLECTION: "is what the desk does after a run or a session: ask for it by `reflection`",
    Mode.MERGE_SUGGESTION: "is what the desk does about two entries of the notebook: ask for it there",
    Mode.COMPLETENESS_CHECK: (
        "is for a task that an agent has worked on: post a completeness check instead (POST /completeness-checks)"
    ),
}
# What a loop would pass over in silence.
UNUSED = {
    Mode.REFLECTION_PROTOCOL: ("tests", "output_schema", "tool_call"),
    Mode.EXTERNAL_LOOP: ("requirements",),
    Mode.PLANNING: ("tests", "output_schema", "tool_call", "requirements"),
    Mode.ACTOR_CRITIC: (*SIGNALS, "requirements"),
    Mode.REFLEXION: (*SIGNALS, "requirements"),
}

OPEN_FILES = frozenset({Mode.PLANNING, Mode.ACTOR_CRITIC})

NEEDS_A_SIGNAL = (
    "external_loop needs something that can check the answer: tests, an output_schema, a tool_call, tools, or the kind "
    "code_generation, for which a model writes tests"
)


def check_it_can_run(submission: "TaskSubmission") -> None:
    """Raises InvalidInput, which names each field that keeps the task from being run in its mode."""
    errors = [{"field": field, "message": message} for field, message in _problems(submission)]
    if errors:
        raise InvalidInput(_("The task is invalid; nothing was saved."), errors=errors)


def _problems(submission: "TaskSubmission") -> Iterator[tuple[str, str]]:
    if submission.tests is not None and submission.tests.script is not None:
        try:
            check_script(submission.tests.script, entry_point=submission.tests.entry_point)
        except ScriptRefused as error:
            yield "tests.script", str(error)
    if submission.output_schema is not None:
        try:
            check_schema(submission.output_schema)
        except SchemaRefused as error:
            yield "output_schema", str(error)
    if submission.requirements is not None:
        yield from problems_of(submission.requirements)
    # The real signals that came with the task. A tool call may name further tools.
    present = [name for name in SIGNALS if getattr(submission, name)]
    if submission.output_schema is not None and "output_schema" not in present:
        present.append("output_schema")
    signals = [name for name in present if name != "tools" or "tool_call" not in present]
    if len(signals) > 1:
        yield signals[1], f"cannot be given together with {signals[0]}: only one of them can decide"
    yield from _problems_of_mode(submission, signals)


def _problems_of_mode(submission: "TaskSubmission", signals: list[str]) -> Iterator[tuple[str, str]]:
    mode = submission.mode
    if mode in OTHER_CALLS:
        yield "mode", f"{mode.value} {OTHER_CALLS[mode]}"
    if mode is Mode.EXTERNAL_LOOP and not signals and submission.kind != TaskKind.CODE_GENERATION:
        yield "mode", NEEDS_A_SIGNAL
    if mode is Mode.PLANNING and not submission.tools:
        yield "tools", "planning needs the tools that the plan may use"
    if mode is Mode.PLANNING and submission.execution is Execution.EXTERNAL:
        yield "execution", "planning calls the tools itself; an agent hands in its calls by external_loop"
    present = [*signals, "requirements"] if submission.requirements is not None else signals
    # Files are opened under each loop that can send work back for them; what is required of an answer is not.
    only_files = submission.requirements is not None and not submission.requirements.of_the_answer
    for name in present:
        is_of_files = name == "requirements" and only_files and mode in OPEN_FILES
        if name in UNUSED.get(mode, ()) and not is_of_files:
            yield name, f"{mode.value} does not use it; choose adaptive or leave it out"
    others = [name for name in signals if name != "tools"]
    if mode is Mode.ADAPTIVE and others and "requirements" in present:
        yield "requirements", f"cannot be given together with {others[0]}: only one of them can decide"


# When work that is handed in is to be reflected on, and what those who look back are given besides it.

LARGEST_TOOL_ERRORS = 500_000
LARGEST_FILES = 2_000_000
MOST_FILES = 100
MOST_TOOL_ERRORS = 200


def _mode_alone(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


class ReflectionInput(Value):
    """When to reflect. Default mode: the project's. Inline: after a number of turns and when a tool fails."""

    mode: ReflectionMode | None = Field(
        default=None,
        description="post_hoc: after the end; inline: while it happens, sessions only; unset: the project's setting",
    )
    every_turns: int = Field(default=5, ge=1, le=100)
    errors: bool | None = Field(
        default=None, description="whether the error reflector runs; unset: the project's setting"
    )
    memory: bool | None = Field(
        default=None, description="whether the memory reflector runs; unset: the project's setting"
    )

    @property
    def switches(self) -> dict[str, bool]:
        """Which of those who look back were switched on or off for this work."""
        switches = {"errors": self.errors, "memory": self.memory}
        return {name: is_on for name, is_on in switches.items() if is_on is not None}


AnyReflection = Annotated[ReflectionInput, BeforeValidator(_mode_alone)]


def _relative(path: str) -> str:
    parts = path.split("/")
    if "\\" in path or any(part in {"", ".", ".."} for part in parts):
        raise ValueError("must be a relative path with forward slashes and no . or .. in it")
    return path


class FileSubmission(Value):
    """A text file for tools to read, at a relative path with forward slashes."""

    path: Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_relative)]
    content: str


def _named_once(files: tuple[FileSubmission, ...]) -> tuple[FileSubmission, ...]:
    paths = [file.path for file in files]
    if doubled := next((path for path in paths if paths.count(path) > 1), None):
        raise ValueError(f"two files have the path {doubled!r}")
    return files


def _storable(value: Any) -> Any:
    if not is_storable(value):
        raise ValueError("holds a NUL character, half a surrogate pair or an infinite number, which cannot be stored")
    return value


Files = Annotated[
    tuple[FileSubmission, ...], Field(max_length=MOST_FILES), AfterValidator(_named_once), at_most(LARGEST_FILES)
]


class ToolErrorInput(Value):
    """A failed tool call, as traced by the agent's framework."""

    tool: str = Field(max_length=120)
    error: str = Field(max_length=20_000)
    arguments: Annotated[JsonValue, AfterValidator(_storable)] = None
    turn: int | None = Field(default=None, ge=1)


ToolErrors = Annotated[tuple[ToolErrorInput, ...], Field(max_length=MOST_TOOL_ERRORS), at_most(LARGEST_TOOL_ERRORS)]


# Each list of tasks repeats the metadata of all its tasks, and each attempt is given all of the tests.
LARGEST_METADATA = 16_384
LARGEST_TESTS = 1_000_000
LARGEST_SCHEMA = 200_000
# Pydantic writes all of its complaints down, or none.
MOST_COLLECTED = 10_000


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


class LimitsOverride(Value):
    """Limits of this task only. Omitted limits come from the project."""

    max_iterations: int | None = Field(default=None, ge=1, le=MOST_ATTEMPTS)
    token_budget: int | None = Field(default=None, ge=1, le=100_000_000)
    time_budget_s: float | None = Field(default=None, gt=0, le=86_400)
    cost_budget_usd: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)] | None = None

    def over(self, limits: Limits) -> Limits:
        """`limits` with these in front."""
        return Limits.model_validate(limits.model_dump() | self.model_dump(exclude_none=True))


ChosenModels = dict[ModelRole, Annotated[str, Field(min_length=1, max_length=200)]]


class TaskSubmission(Value):
    """One objective and how to work on it."""

    objective: Annotated[str, Field(min_length=1, max_length=200_000), AfterValidator(_not_blank)]
    mode: Mode = Mode.ADAPTIVE
    kind: str = Field(default="", max_length=60)
    agent: AgentName = Field(default="", max_length=120)
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
    completeness: CheckChoice = Field(
        default=CheckChoice(),
        description="completeness check settings for this task only; they override the project's",
    )
    models: ChosenModels = Field(
        default_factory=dict,
        description="model for each role, among those that the project lets its tasks choose; other roles use the "
        "project's model, or the actor's if none is configured",
        examples=[{"critic": "openai/gpt-4o-mini"}],
    )
    execution: Execution = Execution.MANAGED
    review: ReviewDemand = Field(
        default=ReviewDemand.POLICY,
        description="`required`: the run waits for a reviewer, whose decision ends it, even if the project's "
        "policy requires no review; `policy`: the project's review policy applies",
    )
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    @property
    def models_by_role(self) -> dict[str, str]:
        return by_role(self.models)

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "TaskSubmission":
        dumped = self.model_dump(mode="json")
        if is_too_deep(dumped):
            raise ValueError(f"is nested more than {DEEPEST} levels deep")
        _storable(dumped)
        return self


def by_role(models: ChosenModels) -> dict[str, str]:
    """The same by the names of the roles, as rows keep them."""
    return {role.value: name for role, name in models.items()}


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
        known: set[object] = set(schema.model_fields)
        for info in schema.model_fields.values():
            alias = info.validation_alias
            known.update(alias.choices if isinstance(alias, AliasChoices) else [alias])
        unknown = [name for name in body if name not in known]
        if len(unknown) > MOST_ERRORS:
            raise InvalidInput(
                _("The %(what)s is invalid; nothing was saved.") % {"what": what},
                errors=[{"field": name, "message": _("Unknown field.")} for name in unknown[:MOST_ERRORS]],
                more=len(unknown) - MOST_ERRORS,
            )
    try:
        return schema.model_validate(body)
    except ValidationError as error:
        raise invalid_input(error, what=what) from None


def too_many_errors(error: ValidationError) -> list[dict[str, str]]:
    """How many errors there are, where naming them takes long; else none."""
    count = error.error_count()
    if count <= MOST_COLLECTED:
        return []
    return [{"field": "", "message": _("%(count)s errors, too many to list") % {"count": f"{count:,}"}}]


def invalid_input(error: ValidationError, *, what: str) -> InvalidInput:
    """Pydantic's complaints in the form that every interface of ours uses."""
    if too_many := too_many_errors(error):
        return InvalidInput(_("The %(what)s is invalid; nothing was saved.") % {"what": what}, errors=too_many)
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
    return InvalidInput(_("The %(what)s is invalid; nothing was saved.") % {"what": what}, errors=errors)
