"""The spans of a trace as one session: what its agents were told, said and did, in order, and each thing once.

A model is told the whole conversation at every call, so that each of its spans repeats those before it. Every agent has
a thread of its own, in which only what is new is kept; the threads are put together by time.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from reflection_app.loops.storable import storable
from reflection_app.sessions.otlp.conventions import SpanKind
from reflection_app.sessions.otlp.messages import Message, read_json
from reflection_app.sessions.otlp.reading import (
    Exchange,
    ToolCall,
    agent_beside,
    agent_of,
    conversation_of,
    error_of,
    exchange_of,
    is_named_for_its_agent,
    kind_of,
    model_of,
    tokens_of,
    tool_call_of,
    tool_name_of,
)
from reflection_app.sessions.otlp.wire import Span

NOT_KEPT = "(The trace does not hold what the tool answered.)"
# As JSON, in bytes: together below what a session takes of one message.
LARGEST_CONTENT = 90_000
LARGEST_ARGUMENTS = 60_000
LONGEST_NAME = 120
MOST_CALLS = 20
MOST_ERRORS = 20
LONGEST_ERROR = 500
# Deeper than any honest tree of agents; ids are the sender's and may go round in circles.
DEEPEST = 1_000


@dataclass(frozen=True)
class Conversation:
    """A session told from spans. `messages` is empty where they say nothing of agents."""

    messages: tuple[Message, ...]
    agent: str = ""
    conversation_id: str = ""
    service: str = ""
    models: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    # Calls of models that failed: they are no turns, and are worth knowing of.
    model_errors: tuple[str, ...] = ()


@dataclass
class Thread:
    """What one agent has been told and has said so far."""

    agent: str
    is_main: bool
    has_content: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    # The ids of calls of which no span was seen.
    waiting: set[str] = field(default_factory=set)
    # The same by what was called, alone and with each form of its arguments, and ids that wait no more: a trace may
    # hold as many calls as fit into it.
    asked: dict[tuple[str, ...], deque[str]] = field(default_factory=lambda: defaultdict(deque))
    called: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    def news_of(self, told: Iterable[Message]) -> list[Message]:
        """Those of the messages that were not told before; a message said twice is told twice."""
        count: Counter[str] = Counter()
        news = []
        for message in told:
            key = _key(message)
            count[key] += 1
            is_known = count[key] <= self.seen[key] or message.get("tool_call_id", "") in self.answered
            if not is_known:
                news.append(self.kept(message))
        return news

    def call_id_of(self, call: ToolCall) -> str:
        """The id of the call that a tool's span is of, where it is one that waits for its answer; else empty."""
        if call.call_id:
            return call.call_id
        for wanted in ((call.name, _form(read_json(call.arguments))), (call.name,)):
            ids = self.asked[wanted]
            while ids and ids[0] not in self.waiting:
                ids.popleft()
            if ids:
                return ids[0]
        return ""

    def wait_for(self, call: dict[str, Any]) -> None:
        """From now on the call waits for its answer."""
        name, asked = call["function"]["name"], read_json(call["function"]["arguments"])
        # Some libraries tell the values alone, or the only one by itself.
        values = [*asked.values()] if isinstance(asked, dict) else []
        forms = {_form(one) for one in (asked, values, *(values if len(values) == 1 else ()))}
        self.waiting.add(call["id"])
        for wanted in ((name,), *((name, form) for form in forms)):
            self.asked[wanted].append(call["id"])

    def kept(self, message: Message) -> Message:
        """The message as it stands in the session; from now on it counts as told."""
        self.seen[_key(message)] += 1
        for call in message.get("tool_calls", ()):
            self.called.add(call["id"])
            self.wait_for(call)
        if answered := message.get("tool_call_id"):
            self.answered.add(answered)
            self.waiting.discard(answered)
        if message["role"] == "assistant" and not self.is_main and self.agent:
            return {**message, "name": self.agent}
        return message


def conversation_of_spans(spans: Sequence[Span]) -> Conversation:
    """The session that the spans tell of; the same spans give the same session in whichever order they came."""
    ordered = sorted(spans, key=lambda span: (span.start_ns, span.end_ns, span.span_id))
    kinds = {span.span_id: kind_of(span) for span in ordered}
    threads = _Threads(ordered, kinds=kinds)
    exchanges = {span.span_id: exchange_of(span) for span in ordered if kinds[span.span_id] in EXCHANGING}
    if not any(exchange.has_content for exchange in exchanges.values()):
        exchanges |= {span.span_id: exchange_of(span) for span in ordered if threads.is_outermost_workflow(span)}
    # What an agent's own span was told and said counts only where no model below it tells the same in full.
    for span in ordered:
        if kinds[span.span_id] is SpanKind.MODEL and exchanges[span.span_id].has_content:
            threads.mark_content(span)
    for span in ordered:
        if kinds[span.span_id] is SpanKind.AGENT and threads.of(span).has_content:
            exchanges.pop(span.span_id, None)
    asking = _Asking()
    for span in ordered:
        if exchange := exchanges.get(span.span_id):
            asking.add(span, exchange, threads.of(span))
    moments: list[tuple[int, int, Span, bool]] = []
    for place, span in enumerate(ordered):
        if span.span_id in exchanges:
            moments.append((span.start_ns, place, span, True))
            moments.append((span.end_ns, place, span, False))
        elif kinds[span.span_id] is SpanKind.TOOL:
            moments.append((asking.moment_of(span, threads.of(span)), place, span, False))
    messages: list[Message] = []
    for _, _, span, is_start in sorted(moments, key=lambda moment: (moment[0], moment[1], not moment[3])):
        thread = threads.of(span)
        if kinds[span.span_id] is SpanKind.TOOL:
            messages += _tool_messages(span, thread)
        elif exchange := exchanges.get(span.span_id):
            messages += thread.news_of(exchange.told) if is_start else [thread.kept(one) for one in exchange.said]
    models = [span for span in ordered if kinds[span.span_id] is SpanKind.MODEL]
    tokens = [tokens_of(span) for span in models]
    service = next((span.service for span in ordered if span.service), "")
    return Conversation(
        messages=tuple(_truncated(message) for message in messages),
        agent=threads.main_agent or service,
        conversation_id=next(filter(None, map(conversation_of, ordered)), ""),
        service=service,
        models=tuple(dict.fromkeys(filter(None, map(model_of, models)))),
        input_tokens=sum(asked for asked, _ in tokens),
        output_tokens=sum(answered for _, answered in tokens),
        model_calls=len(models),
        tool_calls=sum(kind is SpanKind.TOOL for kind in kinds.values()),
        model_errors=tuple(error_of(span)[:LONGEST_ERROR] for span in models if span.is_error)[:MOST_ERRORS],
    )


EXCHANGING = (SpanKind.MODEL, SpanKind.AGENT)
# A workflow names the session only where no agent does.
NAMING = (SpanKind.AGENT, SpanKind.WORKFLOW)


class _Threads:
    """The thread of each span: that of the nearest agent above it, or of the whole trace."""

    def __init__(self, spans: Sequence[Span], *, kinds: dict[str, SpanKind]) -> None:
        self._by_id = {span.span_id: span for span in spans}
        self._kinds = kinds
        self._of_agent: dict[str, Thread] = {}
        # Known once for each span: below one another they may be as many as a trace has.
        self._of_span: dict[str, Thread] = {}
        self._marked: set[str] = set()
        agents = [[span for span in spans if kinds[span.span_id] is kind] for kind in NAMING]
        named = (agent_of(span) for of_kind in agents for span in of_kind)
        called = (span.name for of_kind in agents for span in of_kind if is_named_for_its_agent(span))
        self._has_names = any(map(agent_of, agents[0]))
        self.main_agent = next(filter(None, named), "") or next(called, "")

    def of(self, span: Span) -> Thread:
        if span.span_id not in self._of_span:
            self._of_span[span.span_id] = self._find(span)
        return self._of_span[span.span_id]

    def _find(self, span: Span) -> Thread:
        is_agent = self._kinds[span.span_id] is SpanKind.AGENT
        above = (one for one in self._above(span) if self._kinds[one.span_id] is SpanKind.AGENT)
        agent = span if is_agent else next(above, None)
        name = agent_beside(span)
        if not name and agent is not None:
            is_named = not self._has_names and is_named_for_its_agent(agent)
            name = agent_of(agent) or (agent.name if is_named else "")
        is_main = name in {"", self.main_agent}
        # An agent called again goes on with its own thread.
        return self._of_agent.setdefault(
            "" if is_main else name, Thread(agent=name or self.main_agent, is_main=is_main)
        )

    def is_outermost_workflow(self, span: Span) -> bool:
        kinds = (self._kinds[one.span_id] for one in self._above(span))
        return self._kinds[span.span_id] is SpanKind.WORKFLOW and SpanKind.WORKFLOW not in kinds

    def mark_content(self, span: Span) -> None:
        """Says of the span's thread, and of those above it, that models tell what was said there."""
        self.of(span).has_content = True
        for above in self._above(span):
            # Where it was said before, it was said of all above as well.
            if above.span_id in self._marked:
                return
            self._marked.add(above.span_id)
            self.of(above).has_content = True

    def _above(self, span: Span) -> Iterable[Span]:
        parent = self._by_id.get(span.parent_id)
        for _ in range(DEEPEST):
            if parent is None:
                return
            yield parent
            parent = self._by_id.get(parent.parent_id)


class _Asking:
    """When the calls of tools were told: a model that streams is still at it when the tool that it calls has ended."""

    def __init__(self) -> None:
        self._ended: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)

    def add(self, span: Span, exchange: Exchange, thread: Thread) -> None:
        for name in {call["function"]["name"] for message in exchange.said for call in message.get("tool_calls", ())}:
            self._ended[id(thread), name].append((span.start_ns, span.end_ns))

    def moment_of(self, tool: Span, thread: Thread) -> int:
        """When the tool's answer is told: once it has ended, and its call was told."""
        under_way = self._ended.get((id(thread), tool_name_of(tool)), ())
        return min((end for start, end in under_way if start <= tool.end_ns <= end), default=tool.end_ns)


def _tool_messages(span: Span, thread: Thread) -> list[Message]:
    """The call and its answer, as far as the models' spans have not told them."""
    call = tool_call_of(span)
    call_id = thread.call_id_of(call) or f"span-{span.span_id}"
    # Of the next call of this name, another span tells.
    thread.waiting.discard(call_id)
    if call_id in thread.answered or (call.result is None and thread.has_content):
        # The next model is told the answer, and its span tells us.
        return []
    asked = {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    answer: Message = {
        "role": "tool",
        "name": call.name[:LONGEST_NAME],
        "tool_call_id": call_id,
        "content": NOT_KEPT if call.result is None else call.result,
        "is_error": call.is_error,
    }
    told: list[Message] = (
        [] if call_id in thread.called else [{"role": "assistant", "content": "", "tool_calls": [asked]}]
    )
    return [thread.kept(message) for message in (*told, answer)]


def _key(message: Message) -> str:
    """What makes a message the same as another, however it was written down."""
    calls = [
        (call["id"], call["function"]["name"], read_json(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    ]
    parts = (message["role"], str(message.get("content") or "").strip(), calls, message.get("tool_call_id", ""))
    return json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)


def _form(arguments: Any) -> str:
    """The same text for the same arguments, and a short one."""
    return blake2b(json.dumps(arguments, sort_keys=True).encode(), digest_size=16).hexdigest()


def _truncated(message: Message) -> Message:
    """The message, storable, and small enough for a turn of a session."""
    content = cut(str(message.get("content") or ""), largest=LARGEST_CONTENT)
    truncated: dict[str, Any] = {**message, "content": content}
    if calls := message.get("tool_calls"):
        room = LARGEST_ARGUMENTS // min(len(calls), MOST_CALLS)
        truncated["tool_calls"] = []
        for call in calls[:MOST_CALLS]:
            function = {
                "name": storable(call["function"]["name"])[:LONGEST_NAME],
                "arguments": cut(call["function"]["arguments"], largest=room),
            }
            truncated["tool_calls"].append({**call, "id": storable(call["id"])[:LONGEST_NAME], "function": function})
    for name in ("name", "tool_call_id"):
        if name in message:
            truncated[name] = storable(message[name])[:LONGEST_NAME]
    return truncated


def cut(text: str, *, largest: int) -> str:
    """The beginning of the text that takes at most `largest` bytes as JSON, and a word on what was cut."""
    kept = storable(text)
    while (size := len(json.dumps(kept, ensure_ascii=False).encode())) > largest:
        kept = kept[: min(len(kept) * largest // size, len(kept) - 1)]
    left_out = len(text) - len(kept)
    return f"{kept}\n… ({left_out:,} more characters were cut)" if left_out else kept
