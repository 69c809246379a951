"""What happened in an agent's session, recorded in OpenAI's form and handed in when it ends."""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from reflection_desk.answers import Transcript
from reflection_desk.calls import sessions
from reflection_desk.errors import DeskError
from reflection_desk.plain import clipped, plain, size_of
from reflection_desk.steps import Sender, Steps

# What the desk takes at once: messages and their size in a request, one message, the failed calls of tools beside them.
MOST_MESSAGES, LARGEST_REQUEST, LARGEST_MESSAGE = 500, 4_000_000, 180_000
MOST_TOOL_ERRORS, LARGEST_TOOL_ERRORS, LONGEST_TOOL_ERROR = 200, 400_000, 10_000

type Message = Mapping[str, Any] | Any


@dataclass
class Session:
    """A session that is going on; may be told by several threads.

    `transcript` is what the desk has of it, once it has ended.
    """

    objective: str | None = None
    agent: str | None = None
    external_id: str | None = None
    files: Sequence[Mapping[str, str]] | None = None
    reflection: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    tool_errors: list[dict[str, Any]] = field(default_factory=list)
    transcript: Transcript | None = None
    _known: Counter[str] = field(default_factory=Counter, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def message(self, role: str | Message, content: Any = None, **more: Any) -> None:
        """Adds a message: `message("user", "Cancel my trip.")`, or one as OpenAI's interface takes or gives it."""
        message = _as_message({"role": role, "content": content, **more} if isinstance(role, str) else role)
        with self._lock:
            self.messages.append(message)
            self._known[_key(message)] += 1

    def conversation(self, messages: Iterable[Message]) -> None:
        """Adds those of a whole conversation that are not there yet: what a model is told again is kept once."""
        with self._lock:
            met: Counter[str] = Counter()
            for one in messages:
                message = _as_message(one)
                met[_key(message)] += 1
                if met[_key(message)] > self._known[_key(message)]:
                    self.message(message)

    def tool_call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        """Adds a call of a tool; returns its id, by which the tool's answer is added."""
        call_id = f"call_{uuid4().hex[:24]}"
        function = {"name": tool, "arguments": json.dumps(plain(arguments or {}), ensure_ascii=False)}
        self.message("assistant", tool_calls=[{"id": call_id, "type": "function", "function": function}])
        return call_id

    def tool_result(self, call_id: str, content: Any) -> None:
        """Adds what the tool answered."""
        self.message("tool", _as_text(content), tool_call_id=call_id)

    def tool_error(
        self, tool: str, error: BaseException | str, *, params: Any = None, call_id: str | None = None
    ) -> None:
        """Adds a call of a tool that failed. With the id of a call it is that call's answer, too."""
        told = str(error) or type(error).__name__
        with self._lock:
            if call_id is not None:
                self.message("tool", told, tool_call_id=call_id, is_error=True)
            failed = {"tool": tool[:120], "error": clipped(plain(told), LONGEST_TOOL_ERROR), "arguments": plain(params)}
            if self.messages:
                failed["turn"] = len(self.messages)
            self.tool_errors.append(failed)

    def break_off(self, sender: Sender, error: BaseException) -> Steps[None]:
        """Hands it in with the error as its last message. Raises nothing: the error is what counts."""
        self.message("system", f"The session broke off: {type(error).__name__}: {error}")
        try:
            yield from self.hand_in(sender)
        except DeskError as lost:
            error.add_note(f"The session could not be handed in: {lost}")

    def hand_in(self, sender: Sender) -> Steps[None]:
        """Hands all of it in and ends it. A session in which nothing happened is not handed in."""
        with self._lock:
            messages, tool_errors = list(self.messages), list(self.tool_errors)
        if not messages and not tool_errors:
            return
        first, *later = list(_portions(messages)) or [[]]
        kept = list(_that_fit(tool_errors))
        left_out = {"tool_errors_left_out": len(tool_errors) - len(kept)} if len(kept) < len(tool_errors) else {}
        opened = sessions.submit_transcript(
            first,
            objective=self.objective,
            agent=self.agent,
            external_id=self.external_id,
            files=self.files,
            reflection=self.reflection,
            metadata=plain(self.metadata or {}) | left_out,
            tool_errors=kept,
            ended=not later,
        )
        self.transcript = yield from sender.send(opened)
        known = len(first)
        for portion in later:
            yield from sender.send(sessions.add_turns(self.transcript.id, portion, after=known))
            known += len(portion)
        if later:
            self.transcript = yield from sender.send(sessions.end_transcript(self.transcript.id))


def _as_message(told: Message) -> dict[str, Any]:
    """The message in types of JSON. Raises TypeError where it is none."""
    message = plain(told)
    if not isinstance(message, dict) or "role" not in message:
        raise TypeError("a message is a role and a content, a mapping with both, or a model that has both")
    return {"content": None} | {name: value for name, value in message.items() if value is not None}


def _key(message: Mapping[str, Any]) -> str:
    """The same for a message however it is told: with the spaces in a call's arguments, or without."""
    calls = [
        (call.get("id"), function.get("name"), _read(function.get("arguments")))
        for call in message.get("tool_calls") or ()
        if isinstance(function := call.get("function"), dict)
    ]
    told = (message.get("role"), message.get("content") or "", message.get("tool_call_id"), calls)
    return json.dumps(told, sort_keys=True)


def _read(arguments: Any) -> Any:
    """The same text for the same arguments; models write any."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return arguments


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(plain(content), ensure_ascii=False)


def _portions(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The messages in as many requests as they need, each cut to what the desk keeps of one."""
    portion: list[dict[str, Any]] = []
    size = 0
    for message in messages:
        fitted = _fitted(message)
        one = size_of(fitted)
        if portion and (len(portion) == MOST_MESSAGES or size + one > LARGEST_REQUEST):
            yield portion
            portion, size = [], 0
        portion.append(fitted)
        size += one
    if portion:
        yield portion


def _fitted(message: dict[str, Any]) -> dict[str, Any]:
    for share in (2, 10, 100, 1_000):
        if size_of(message) <= LARGEST_MESSAGE:
            return message
        message = clipped(message, LARGEST_MESSAGE // share)
    if size_of(message) <= LARGEST_MESSAGE:
        return message
    return {"role": message["role"], "content": "(This message is too large to be kept.)"}


def _that_fit(tool_errors: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    size = 0
    for one in tool_errors[:MOST_TOOL_ERRORS]:
        size += size_of(one)
        if size > LARGEST_TOOL_ERRORS:
            return
        yield one
