"""Record an agent's session as OpenAI chat messages and submit it when it ends."""

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

# Limits of the server: messages in a request, their total size and the size of one, in bytes.
MOST_MESSAGES, LARGEST_REQUEST, LARGEST_MESSAGE = 500, 4_000_000, 180_000
# Failed tool calls in a request, their total size in bytes, and the length of an error in characters.
MOST_TOOL_ERRORS, LARGEST_TOOL_ERRORS, LONGEST_TOOL_ERROR = 200, 400_000, 10_000

type Message = Mapping[str, Any] | Any


@dataclass
class Session:
    """An agent's session while it is recorded. Threads may share it.

    Create it with `desk.session(agent="support", objective="Answer the customer.")`. Messages may contain any Python
    value: what JSON does not support is converted to text, and a message over 180,000 bytes is shortened with a note.
    `transcript` is the server's response, set once the session is submitted.
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
        """Add a message: `message("user", "Cancel my trip.")`, or an OpenAI message as a dict or pydantic model.

        `more` has further fields of the message, such as `tool_call_id`. Raises TypeError for a message without a role.
        """
        message = _as_message({"role": role, "content": content, **more} if isinstance(role, str) else role)
        with self._lock:
            self.messages.append(message)
            self._known[_key(message)] += 1

    def conversation(self, messages: Iterable[Message]) -> None:
        """Add the messages of a conversation that the session does not have yet.

        Pass the whole list before each model call; messages that models receive repeatedly are recorded once.
        """
        with self._lock:
            met: Counter[str] = Counter()
            for one in messages:
                message = _as_message(one)
                met[_key(message)] += 1
                if met[_key(message)] > self._known[_key(message)]:
                    self.message(message)

    def tool_call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        """Add a tool call and return its id, for `tool_result` or `tool_error`."""
        call_id = f"call_{uuid4().hex[:24]}"
        function = {"name": tool, "arguments": json.dumps(plain(arguments or {}), ensure_ascii=False)}
        self.message("assistant", tool_calls=[{"id": call_id, "type": "function", "function": function}])
        return call_id

    def tool_result(self, call_id: str, content: Any) -> None:
        """Add the result of a tool call. Values that are not a `str` are recorded as JSON."""
        self.message("tool", _as_text(content), tool_call_id=call_id)

    def tool_error(
        self, tool: str, error: BaseException | str, *, params: Any = None, call_id: str | None = None
    ) -> None:
        """Add a failed tool call. With `call_id`, the error is also recorded as the result of that call."""
        text = str(error) or type(error).__name__
        with self._lock:
            if call_id is not None:
                self.message("tool", text, tool_call_id=call_id, is_error=True)
            failed = {"tool": tool[:120], "error": clipped(plain(text), LONGEST_TOOL_ERROR), "arguments": plain(params)}
            if self.messages:
                failed["turn"] = len(self.messages)
            self.tool_errors.append(failed)

    def break_off(self, sender: Sender, error: BaseException) -> Steps[None]:
        """Submit the session with the error as its last message.

        If that fails, a note is added to the error instead of raising a second one.
        """
        self.message("system", f"The session ended with an error: {type(error).__name__}: {error}")
        try:
            yield from self.hand_in(sender)
        except DeskError as failure:
            error.add_note(f"The session could not be submitted: {failure}")

    def hand_in(self, sender: Sender) -> Steps[None]:
        """Submit the session in as many requests as it needs, then end it. An empty session is not submitted."""
        with self._lock:
            messages, tool_errors = list(self.messages), list(self.tool_errors)
        if not messages and not tool_errors:
            return
        first, *later = list(_portions(messages)) or [[]]
        sent = list(_that_fit(tool_errors))
        omitted = {"tool_errors_left_out": len(tool_errors) - len(sent)} if len(sent) < len(tool_errors) else {}
        opened = sessions.submit_transcript(
            first,
            objective=self.objective,
            agent=self.agent,
            external_id=self.external_id,
            files=self.files,
            reflection=self.reflection,
            metadata=plain(self.metadata or {}) | omitted,
            tool_errors=sent,
            ended=not later,
        )
        self.transcript = yield from sender.send(opened)
        known = len(first)
        for portion in later:
            yield from sender.send(sessions.add_turns(self.transcript.id, portion, after=known))
            known += len(portion)
        if later:
            self.transcript = yield from sender.send(sessions.end_transcript(self.transcript.id))


def _as_message(value: Message) -> dict[str, Any]:
    """Return the message as JSON types. Raises TypeError if it has no role."""
    message = plain(value)
    if not isinstance(message, dict) or "role" not in message:
        raise TypeError("a message needs a role: pass role and content, or a dict or pydantic model with both")
    return {"content": None} | {name: value for name, value in message.items() if value is not None}


def _key(message: Mapping[str, Any]) -> str:
    """Return a key that is equal for equal messages, regardless of formatting in the arguments of tool calls."""
    calls = [
        (call.get("id"), function.get("name"), _read(function.get("arguments")))
        for call in message.get("tool_calls") or ()
        if isinstance(function := call.get("function"), dict)
    ]
    parts = (message.get("role"), message.get("content") or "", message.get("tool_call_id"), calls)
    return json.dumps(parts, sort_keys=True)


def _read(arguments: Any) -> Any:
    """Return JSON arguments in canonical form, and anything else unchanged: models may write invalid JSON."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return arguments


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(plain(content), ensure_ascii=False)


def _portions(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages of each request, within the server's limits. Large messages are shortened."""
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
    return {"role": message["role"], "content": "(This message exceeds the size limit and was omitted.)"}


def _that_fit(tool_errors: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    size = 0
    for one in tool_errors[:MOST_TOOL_ERRORS]:
        size += size_of(one)
        if size > LARGEST_TOOL_ERRORS:
            return
        yield one
