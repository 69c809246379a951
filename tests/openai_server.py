"""A real OpenAI-style HTTP server on loopback for tests and benchmarks: the answers are yours, the wire is real.

Imports nothing but the standard library, so that it can also run as a process of its own:
`python -m tests.openai_server --port 9100 --text "hello" --delay 1`.
"""

import argparse
import asyncio
import base64
import json
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.pace import PATIENCE_S

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
TRICKLE_INTERVAL_S = 0.02
LOOK_FOR_HANG_UP_EVERY_S = 0.25


@dataclass(frozen=True)
class Reply:
    """What the server sends back. An error's `text` becomes its message; `raw_body` replaces the whole body.

    A request to stream is answered in pieces of one word each, `piece_delay_s` apart. After `cut_after` of them the
    connection is cut, after `garbage_after` comes one that is no JSON; without `tells_end` the stream just ends.

    With `trickle` the headers come at once and then single spaces for ever: a server that is alive and never answers.
    """

    text: str | None = ""
    # What is streamed in place of the text's words.
    pieces: Sequence[str] = ()
    # In place of the text: the content as a list of parts.
    parts: Sequence[Mapping[str, Any]] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = "stop"
    raw_body: bytes | None = None
    trickle: bool = False
    piece_delay_s: float = 0.0
    cut_after: int | None = None
    garbage_after: int | None = None
    tells_end: bool = True
    tells_usage: bool = True
    # Beside or in place of the text: a refusal in words, what was thought, the tools that are called, each by its name
    # or by its name and its arguments.
    refusal: str | None = None
    reasoning: str | None = None
    tool_calls: Sequence[str | tuple[str, str]] = ()
    # Of the tokens above, told only where they are given.
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    # For a request to `/v1/embeddings`: one for each text of its `input`.
    vectors: Sequence[Sequence[float]] = ()


Answer = Callable[[dict[str, Any]], str | Reply]

DATA_URL = re.compile(r"data:([a-z]+/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})")


@dataclass(frozen=True)
class SentPicture:
    """A picture as it came over the wire, decoded."""

    media_type: str
    content: bytes

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, of a PNG."""
        assert self.content.startswith(b"\x89PNG\r\n\x1a\n"), "it is no PNG"
        assert self.content.endswith(b"IEND\xaeB`\x82"), "it breaks off"
        return int.from_bytes(self.content[16:20], "big"), int.from_bytes(self.content[20:24], "big")


def decoded(media_type: str, data: str) -> SentPicture:
    return SentPicture(media_type, base64.b64decode(data, validate=True))


def openai_parts(message: Mapping[str, Any]) -> list[str | SentPicture]:
    """What a message holds, in its order. Fails at a part that OpenAI does not take."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    parts: list[str | SentPicture] = []
    for part in content:
        if part["type"] == "text":
            parts.append(part["text"])
            continue
        assert part["type"] == "image_url", part["type"]
        assert set(part["image_url"]) <= {"url", "detail"}
        found = DATA_URL.fullmatch(part["image_url"]["url"])
        assert found, "the address is no data URL"
        parts.append(decoded(found[1], found[2]))
    return parts


@dataclass(frozen=True)
class Request:
    """One request as it came in: the parsed body, the headers with lower-case names, and when."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: float


class ScriptedAnswers:
    """Answers in the order given; a request too many is answered 500 and remembered in `overrun`."""

    def __init__(self, answers: Sequence[str | Reply]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.overrun = 0

    def __call__(self, request: dict[str, Any]) -> str | Reply:
        with self._lock:
            if self._answers:
                return self._answers.pop(0)
            self.overrun += 1
        return Reply("the test's script has no more answers", status=500)

    @property
    def left(self) -> int:
        with self._lock:
            return len(self._answers)


class OpenAIServer:
    """Serves `/v1/chat/completions` and `/v1/embeddings` between `__enter__` and `__exit__`; `url` ends in `/v1`.

    `answer` is called on the server's only thread, so it must return at once: let it wait by `Reply.delay_s`.
    """

    paths: tuple[str, ...] = ("/chat/completions", "/embeddings")

    def __init__(
        self,
        answer: Answer,
        *,
        port: int = 0,
        on_answer: Callable[[Request], None] | None = None,
        together: int = 0,
    ) -> None:
        self._answer = answer
        # Nothing is answered before this many requests have waited at once, unless patience ends first.
        self._together = together
        # Told of each request at the moment at which its answer, or the first piece of it, is sent.
        self._on_answer = on_answer
        self._port = port
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._answering = 0
        self.connections_opened = 0
        self.most_at_once = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[Request]:
        """The requests so far, oldest first."""
        with self._lock:
            return list(self._requests)

    @property
    def connections_open(self) -> int:
        return len(self._connections)

    def __enter__(self) -> Self:
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="openai-server", daemon=True)
        self._thread.start()
        self._port = ready.result(timeout=PATIENCE_S)
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join(timeout=PATIENCE_S)

    def _run(self, ready: Future[int]) -> None:
        try:
            self._loop.run_until_complete(self._serve(ready))
        finally:
            self._loop.close()

    async def _serve(self, ready: Future[int]) -> None:
        try:
            server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=1024)
        except OSError as error:
            ready.set_exception(error)
            return
        ready.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.connections_opened += 1
        try:
            # A client that hangs up in the middle (a deadline) is the normal end of a connection here.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await _read_request(reader)) is not None:
                    await self._respond(request, reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _respond(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._lock:
            self._requests.append(request)
        self._answering += 1
        self.most_at_once = max(self.most_at_once, self._answering)
        try:
            await self._send(request, reader, writer)
        finally:
            self._answering -= 1

    async def _send(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = self._reply_to(request)
        await _wait(reply.delay_s, reader)
        patient_until = time.monotonic() + PATIENCE_S / 2
        while self.most_at_once < self._together and time.monotonic() < patient_until:
            await _wait(TRICKLE_INTERVAL_S, reader)
        if self._on_answer is not None:
            self._on_answer(request)
        if reply.trickle:
            await _trickle(writer)
        elif request.body.get("stream") and reply.status == 200 and reply.raw_body is None:
            await _send_stream(writer, request, reply)
        else:
            body = reply.raw_body if reply.raw_body is not None else json.dumps(self.payload(request, reply)).encode()
            writer.write(_head(reply, {"Content-Length": str(len(body))}) + body)
            await writer.drain()

    def payload(self, request: Request, reply: Reply) -> dict[str, Any]:
        """The body of an answer that comes whole, in the server's form."""
        return _payload(request, reply)

    def _reply_to(self, request: Request) -> Reply:
        if not request.path.endswith(self.paths):
            return Reply(f"there is no {request.path} here", status=404)
        try:
            answer = self._answer(request.body)
        except Exception as error:  # noqa: BLE001 - a broken test answer must reach the test as a loud 500
            return Reply(f"the test's answer raised {error!r}", status=500)
        return Reply(answer) if isinstance(answer, str) else answer


async def _wait(seconds: float, reader: asyncio.StreamReader) -> None:
    """Returns after `seconds`. Raises ConnectionError soon after the client has hung up."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, LOOK_FOR_HANG_UP_EVERY_S))
        if reader.at_eof():
            raise ConnectionError("the client hung up")


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a kept-alive connection, or None when the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(path=first.split(" ")[1], headers=headers, body=json.loads(body or b"{}"), at=time.monotonic())


def _head(reply: Reply, extra: Mapping[str, str]) -> bytes:
    headers = {"Content-Type": "application/json", **extra, **reply.headers}
    status = f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}\r\n"
    return (status + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n").encode("latin-1")


def _usage(request: Request, reply: Reply) -> dict[str, Any]:
    asked = sum(len(str(message.get("content", ""))) for message in request.body.get("messages", ()))
    prompt = reply.prompt_tokens if reply.prompt_tokens is not None else asked // 4 + 1
    completion = reply.completion_tokens if reply.completion_tokens is not None else len(reply.text or "") // 4 + 1
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if reply.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached_tokens}
    if reply.reasoning_tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reply.reasoning_tokens}
    return usage


def _payload(request: Request, reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": reply.text, "type": "error", "param": None, "code": None}}
    if request.path.endswith("/embeddings"):
        # Not in their order: what counts is the index.
        rows = [{"object": "embedding", "index": at, "embedding": list(one)} for at, one in enumerate(reply.vectors)]
        return {
            "object": "list",
            "model": request.body.get("model", ""),
            "data": rows[::-1],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
    message: dict[str, Any] = {"role": "assistant", "content": list(reply.parts) or reply.text}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply)
    answer = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": request.body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
    }
    return answer | ({"usage": _usage(request, reply)} if reply.tells_usage else {})


def _calls(reply: Reply) -> list[dict[str, Any]]:
    calls = [(call, "{}") if isinstance(call, str) else call for call in reply.tool_calls]
    return [
        {"index": at, "id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]


async def _chunks(request: Request, reply: Reply) -> AsyncIterator[dict[str, Any]]:
    shape = {"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": request.body.get("model")}
    said = (("reasoning_content", reply.reasoning), ("content", reply.text), ("refusal", reply.refusal))
    for name, text in said:
        for number, word in enumerate(text.split(" ") if text is not None else ()):
            delta: dict[str, Any] = {"role": "assistant", name: word if number == 0 else f" {word}"}
            yield shape | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    for piece in reply.pieces:
        yield shape | {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
    if reply.parts:
        yield shape | {"choices": [{"index": 0, "delta": {"content": list(reply.parts)}, "finish_reason": None}]}
    if reply.tool_calls:
        delta = {"role": "assistant", "content": None, "tool_calls": _calls(reply)}
        yield shape | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if reply.tells_end:
        yield shape | {"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]}
    if reply.tells_usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield shape | {"choices": [], "usage": _usage(request, reply)}


async def _send_stream(writer: asyncio.StreamWriter, request: Request, reply: Reply) -> None:
    writer.write(_head(reply, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
    sent = 0
    async for chunk in _chunks(request, reply):
        if sent == reply.cut_after:
            raise ConnectionError("cut on purpose")
        if sent == reply.garbage_after:
            _write_chunk(writer, b"data: {not json\n\n")
        _write_chunk(writer, f"data: {json.dumps(chunk)}\n\n".encode())
        await writer.drain()
        sent += 1
        await asyncio.sleep(reply.piece_delay_s)
    if reply.tells_end:
        _write_chunk(writer, b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(_head(Reply(), {"Transfer-Encoding": "chunked"}))
    while True:
        _write_chunk(writer, b" ")
        await writer.drain()
        await asyncio.sleep(TRICKLE_INTERVAL_S)


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def main() -> None:
    """Serves one fixed answer until SIGTERM or SIGINT, and prints the address first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--text", default="ok")
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with OpenAIServer(lambda _: Reply(options.text, delay_s=options.delay), port=options.port) as server:
        print(server.url, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
