"""What a span tells, read by the table of conventions: its kind, its agent, what was told and said, a tool's call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reflection_app.sessions.otlp.conventions import CONVENTIONS, MARKS, PLAIN, Convention, Place, SpanKind
from reflection_app.sessions.otlp.messages import Message, content_of, read_json, read_value, tool_answer, written
from reflection_app.sessions.otlp.wire import Span

MOST_TOKENS = 10**12


# Why a span is not understood, as its sender is told.
NO_CONVENTION = "not understood: the attributes are of no convention for agents that is read here"
UNKNOWN_KIND = "not understood: the kind of span or of operation is not known"


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool as its own span tells it. `result` is None where none was kept."""

    call_id: str
    name: str
    arguments: str
    result: str | None
    is_error: bool


@dataclass(frozen=True)
class Exchange:
    """What a model was told, and what it said. Both are empty where the instrumentation keeps no content."""

    told: tuple[Message, ...]
    said: tuple[Message, ...]

    @property
    def has_content(self) -> bool:
        return bool(self.told or self.said)


def tells_of_agents(span: Span) -> bool:
    """Whether it says anything by a convention for agents and their models."""
    return not span.namespaces.isdisjoint(MARKS)


def is_plain(span: Span) -> bool:
    """Whether it says nothing but what any program says of itself: of its requests, its queries, its threads."""
    return not tells_of_agents(span) and all(PLAIN.fullmatch(name) for name in span.attributes)


# What of a request is read to find the kinds of spans that state none, in characters: a million may take a second.
MOST_LOOKED_THROUGH = 2_000_000


def unread_reasons(spans: Sequence[Span]) -> list[str]:
    """For each span why it is not understood, empty where it is. What is too much to look through is not."""
    left, reasons = MOST_LOOKED_THROUGH, list[str]()
    for span in spans:
        if not tells_of_agents(span):
            reasons.append("" if is_plain(span) else NO_CONVENTION)
            continue
        kind = stated_kind(span)
        if kind is None:
            left -= sum(len(name) + len(str(value)) for name, value in _said_by(span))
            kind = kind_of(span) if left >= 0 else SpanKind.UNKNOWN
        reasons.append(UNKNOWN_KIND if kind is SpanKind.UNKNOWN else "")
    return reasons


def kind_of(span: Span) -> SpanKind:
    """What the span is about, by what it names as its kind, else by what else it has."""
    return stated_kind(span) or (SpanKind.UNKNOWN if exchange_of(span).has_content else SpanKind.OTHER)


def stated_kind(span: Span) -> SpanKind | None:
    """The same, where the span need not be read for messages to know it."""
    conventions = _conventions_of(span)
    named = [
        (convention, str(read_value(value)).lower())
        for convention in conventions
        for name in convention.kind
        if (value := span.attributes.get(name))
    ]
    if known := next((convention.kinds[kind] for convention, kind in named if kind in convention.kinds), None):
        return known
    if named:
        return SpanKind.UNKNOWN
    if _first(span, lambda one: one.tool[:1]):
        return SpanKind.TOOL
    return SpanKind.MODEL if _first(span, lambda one: one.model) else None


def _said_by(span: Span) -> Iterator[tuple[str, Any]]:
    yield from span.attributes.items()
    for event in span.events:
        yield from event.attributes.items()


def agent_of(span: Span) -> str:
    """The name of the agent that an agent's or a workflow's span tells of; empty where it has none."""
    return _text(span, lambda one: one.agent)


def agent_beside(span: Span) -> str:
    """The name of the agent that any span says it is of; empty where it says none."""
    return _text(span, lambda one: one.named_on_all)


def is_named_for_its_agent(span: Span) -> bool:
    return any(convention.span_names_agent for convention in _conventions_of(span))


def conversation_of(span: Span) -> str:
    return _text(span, lambda one: one.conversation)


def model_of(span: Span) -> str:
    return _text(span, lambda one: one.model)


def tokens_of(span: Span) -> tuple[int, int]:
    """The tokens asked and answered with, 0 where they are not told."""
    return _count(span, lambda one: one.input_tokens), _count(span, lambda one: one.output_tokens)


def exchange_of(span: Span) -> Exchange:
    """The messages of the span, of each side from the first of the places that has some."""
    system = _messages(span, lambda one: one.system, role="system")
    told = _messages(span, lambda one: one.told, role="user")
    said = _messages(span, lambda one: one.said, role="assistant")
    return Exchange((*system, *told), said)


def tool_name_of(span: Span) -> str:
    return _text(span, lambda one: one.tool) or span.name


def tool_call_of(span: Span) -> ToolCall:
    """The call that a tool's span tells of; what failed without a result has its error in place of one."""
    answer = _answer_of(span)
    is_error = span.is_error or bool(span.attributes.get("error.type")) or bool(answer and answer.get("is_error"))
    result = None if answer is None else str(answer.get("content") or "")
    if result is None and is_error:
        result = error_of(span)
    return ToolCall(
        call_id=_text(span, lambda one: one.call_id) or str((answer or {}).get("tool_call_id") or ""),
        name=tool_name_of(span),
        arguments=_arguments_of(_first(span, lambda one: one.arguments)),
        result=result,
        is_error=is_error,
    )


def _answer_of(span: Span) -> Message | None:
    if (value := _first(span, lambda one: one.result, or_empty=True)) is not None:
        return tool_answer(value)
    for event in span.events:
        if event.name == "gen_ai.tool.message" and "content" in event.attributes:
            return {"content": content_of(read_json(event.attributes["content"]))}
    return None


def _arguments_of(value: Any) -> str:
    """The arguments as the tool has them, without what a library puts around them."""
    read = read_value(value)
    if isinstance(read, Mapping):
        if set(read) == {"args", "kwargs"} and not (read["args"] and read["kwargs"]):
            read = read["kwargs"] or read["args"]
        elif isinstance(read.get("inputs"), Mapping):
            read = read["inputs"]
    return written(read)


def error_of(span: Span) -> str:
    """What went wrong in the span, as well as it says it."""
    exception = next((event.attributes for event in span.events if event.name == "exception"), {})
    parts = (str(exception.get(name) or "") for name in ("exception.type", "exception.message"))
    raised = ": ".join(part for part in parts if part)
    kind = str(span.attributes.get("error.type") or "")
    return span.status_message or raised or kind or "It failed, and its span does not say why."


def _conventions_of(span: Span) -> list[Convention]:
    """Those by which the span is written, in the order in which they count."""
    return [convention for convention in CONVENTIONS if not span.namespaces.isdisjoint(convention.marks)]


type Names = Callable[[Convention], tuple[str, ...]]
type Places = Callable[[Convention], tuple[Place, ...]]


def _values(span: Span, names: Names) -> Iterator[Any]:
    """What the span has under the names, by all of its conventions in their order."""
    for convention in _conventions_of(span):
        for name in names(convention):
            attribute, _, inside = name.partition("#")
            value = span.attributes.get(attribute)
            if inside:
                read = read_json(value)
                value = read.get(inside) if isinstance(read, Mapping) else None
            if value is not None:
                yield value


def _first(span: Span, names: Names, *, or_empty: bool = False) -> Any:
    """The first value that is one; with `or_empty`, also where it is an empty text."""
    return next((value for value in _values(span, names) if or_empty or value != ""), None)


def _text(span: Span, names: Names) -> str:
    found = (written(read_value(value)) for value in _values(span, names))
    return next((text for text in found if text), "")


def _count(span: Span, names: Names) -> int:
    counts = (value for value in _values(span, names) if isinstance(value, int) and not isinstance(value, bool))
    return min(max(next(counts, 0), 0), MOST_TOKENS)


def _messages(span: Span, places: Places, *, role: str) -> tuple[Message, ...]:
    for convention in _conventions_of(span):
        for place in places(convention):
            if found := place(span, role):
                return tuple(found)
    return ()
