"""The Python client against a server that answers as a test says: retries, refusals, pages."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest
from reflection_desk import (
    AsyncDesk,
    Desk,
    DeskError,
    DeskUnreachable,
    Invalid,
    Prompt,
    Reflected,
    StillGoing,
    __version__,
    answering,
)
from reflection_desk.answering import retry_after_s
from reflection_desk.call import get, post
from reflection_desk.calls import work

type Said = tuple[int, dict[str, str], Any]


class Server:
    """Says one thing after another, the last again and again, and keeps what it was asked."""

    def __init__(self) -> None:
        self.says: list[Said | Callable[[], Said]] = []
        self.heard: list[dict[str, Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                server.heard.append({"path": self.path, "body": body, "headers": dict(self.headers)})
                said = server.says.pop(0) if len(server.says) > 1 else server.says[0]
                status, headers, answer = said() if callable(said) else said
                if status == 0:
                    self.close_connection = True
                    return
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815 - the name that the base class looks for

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.stop()


@pytest.fixture
def desk(server: Server) -> Iterator[Desk]:
    with Desk(server.url, "rd_x") as client:
        yield client


def run_json(**changes: Any) -> dict[str, Any]:
    run = {
        "id": str(uuid4()),
        "task_id": str(uuid4()),
        "mode": "reflexion",
        "state": "finished",
        "outcome": "succeeded",
        "waiting_for": None,
        "error": None,
        "best_attempt": {"number": 1, "content": "a", "score": 90.0, "referee": "critic"},
        "attempts": 1,
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost_usd": "0.01", "llm_calls": 1},
        "parent_id": None,
        "created_at": "2026-01-01T00:00:00Z",
        "started_at": None,
        "finished_at": None,
        "new_in_a_newer_desk": 7,
    }
    return run | changes


AGAIN: Said = (503, {"Retry-After": "0"}, {"detail": "starting"})


def test_a_lost_answer_is_asked_for_again_with_the_same_key(server: Server, desk: Desk) -> None:
    server.says = [(0, {}, b""), AGAIN, (200, {}, run_json())]
    run = desk.cancel_run(uuid4())
    assert run.outcome == "succeeded"
    assert str(run.usage.cost_usd) == "0.01"
    keys = {heard["headers"]["Idempotency-Key"] for heard in server.heard}
    assert len(server.heard) == 3
    assert len(keys) == 1


def test_a_refusal_carries_the_desks_words_and_is_not_tried_again(server: Server, desk: Desk) -> None:
    errors = [{"field": "objective", "message": "too long"}]
    server.says = [(400, {}, {"title": "Invalid input", "detail": "Not readable.", "errors": errors})]
    with pytest.raises(Invalid, match=r"400: Not readable\. \(objective: too long\)") as caught:
        desk.submit_task("x")
    assert caught.value.errors == errors
    assert len(server.heard) == 1


def test_a_desk_that_stays_away_is_told_after_all_tries(server: Server) -> None:
    server.says = [(0, {}, b"")]
    with Desk(server.url, "rd_x", tries=2) as desk, pytest.raises(DeskUnreachable, match="2 tries"):
        desk.get_run("a")
    assert len(server.heard) == 2


def test_an_answer_of_a_proxy_is_no_crash(server: Server, desk: Desk) -> None:
    server.says = [(404, {}, b"<html>not here</html>")]
    with pytest.raises(DeskError, match="not here"):
        desk.get_run("a")
    server.says = [(200, {}, b"<html>welcome</html>")]
    with pytest.raises(DeskError, match="cannot be read"):
        desk.get_run("a")


def test_pages_are_walked_to_the_end_and_never_to_another_host(server: Server, desk: Desk) -> None:
    first = {"results": [run_json()], "next": f"{server.url}/api/v1/runs?cursor=b", "previous": None}
    last = {"results": [run_json(), run_json()], "next": None, "previous": None}
    server.says = [(200, {}, first), (200, {}, last)]
    assert len(list(desk.pages(work.list_runs(state="finished")))) == 3
    assert [heard["path"] for heard in server.heard] == ["/api/v1/runs?state=finished", "/api/v1/runs?cursor=b"]

    # As a proxy may have it told: the key goes nowhere but to the address that it was given for.
    server.says = [(200, {}, first | {"next": "http://127.0.0.2:1/api/v1/runs?cursor=c"}), (200, {}, last)]
    assert len(list(desk.pages(work.list_runs()))) == 3
    assert server.heard[-1]["path"] == "/api/v1/runs?cursor=c"


def test_a_run_is_waited_for(server: Server, desk: Desk) -> None:
    server.says = [(200, {}, run_json(state="running", outcome=None)), (200, {}, run_json())]
    assert desk.wait_for_run("a").is_finished
    assert "wait=30" in server.heard[0]["path"]

    server.says = [(200, {}, run_json(state="running", outcome=None))]
    with pytest.raises(StillGoing):
        desk.wait_for_run("a", timeout_s=0.05)


AWAY: Said = (0, {}, b"")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "AWAY_DELAY_S", 0.0)


@pytest.mark.usefixtures("at_once")
def test_whoever_waits_goes_on_waiting_while_the_desk_is_restarted(server: Server) -> None:
    finished = {"seq": 5, "type": "run.finished", "payload": {}, "created_at": "2026-01-01T00:00:00Z"}
    away: list[Said | Callable[[], Said]] = [AWAY, AWAY, (503, {}, {"detail": "The database is away."}), AWAY]
    with Desk(server.url, "rd_x", tries=1) as desk:
        server.says = [*away, (200, {}, run_json())]
        assert desk.wait_for_run("a").is_finished
        server.says = [*away, (200, {}, {"results": []}), *away, (200, {}, run_json(state="running")), *away]
        server.says.append((200, {}, {"results": [finished]}))
        assert [event.seq for event in desk.events("a", after=4)] == [5]
        assert all("after=4" in heard["path"] for heard in server.heard if "/events" in heard["path"])


def test_the_async_client_does_the_same(server: Server) -> None:
    async def asked() -> tuple[str | None, int]:
        async with AsyncDesk(server.url, "rd_x") as desk:
            server.says = [(0, {}, b""), AGAIN, (200, {}, run_json())]
            run = await desk.cancel_run("a")
            page = {"results": [run_json()], "next": f"{server.url}/api/v1/runs?cursor=b"}
            server.says = [(200, {}, page), (200, {}, page | {"next": None})]
            return run.outcome, len([one async for one in desk.pages(work.list_runs())])

    assert asyncio.run(asked()) == ("succeeded", 2)
    keys = {heard["headers"].get("Idempotency-Key") for heard in server.heard[:3]}
    assert len(keys) == 1


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("is_async", [False, True])
def test_an_attempt_is_made_once_though_the_desk_is_restarted_while_it_is_handed_in(
    server: Server, *, is_async: bool
) -> None:
    message = {"role": "user", "content": "Write f."}
    asked = {"attempt": 1, "messages": [message], "prompt": "Write f.", "verdict": None, "ticket": None}
    waiting = run_json(state="waiting_agent", outcome=None, next=asked)
    names = ("external_id", "objective", "kind", "mode", "agent", "execution")
    task = dict.fromkeys(names, "x") | {"id": str(uuid4()), "metadata": {}, "created_at": "2026-01-01T00:00:00Z"}
    handed_in: Said = (200, {}, {"run": run_json(), "next": None})
    server.says = [(201, {}, task | {"run": waiting}), (200, {}, waiting), AWAY, AWAY, handed_in, (200, {}, run_json())]
    made: list[Prompt] = []

    def write(prompt: Prompt) -> str:
        made.append(prompt)
        return "def f(): ..."

    async def awaited() -> Reflected:
        async with AsyncDesk(server.url, "rd_x", tries=1) as desk:
            return await desk.reflected()(write)("Write f.")

    with Desk(server.url, "rd_x", tries=1) as desk:
        best = asyncio.run(awaited()) if is_async else desk.reflected()(write)("Write f.")
    assert (best.outcome, best.score) == ("succeeded", 90.0)
    assert [(prompt, prompt.messages) for prompt in made] == [("Write f.", [message])]
    sent = [heard for heard in server.heard if heard["path"].endswith("/attempts?wait=30")]
    assert len({heard["headers"]["Idempotency-Key"] for heard in sent}) == 1
    assert [heard["body"] for heard in sent] == [{"content": "def f(): ...", "attempt": 1}] * 3


def test_the_environment_says_where_the_desk_is(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DESK_KEY", raising=False)
    monkeypatch.setenv("DESK_URL", server.url)
    with pytest.raises(ValueError, match="DESK_URL and DESK_KEY"):
        Desk()
    monkeypatch.setenv("DESK_KEY", "rd_environment")
    server.says = [(200, {}, run_json())]
    with Desk() as desk:
        desk.get_run("a")
    assert server.heard[0]["headers"]["Authorization"] == "Bearer rd_environment"
    assert server.heard[0]["headers"]["User-Agent"] == f"reflection-desk-client/{__version__}"


@pytest.mark.parametrize("key", ["rd_sekrit\n", "rd_\0sekrit", "rd_sekrit…"])
def test_a_key_that_no_header_takes_is_refused_and_not_repeated(server: Server, key: str) -> None:
    server.says = [(200, {}, run_json())]
    with pytest.raises(ValueError, match="line break") as caught:
        Desk(server.url, key, tries=1).get_run("a")
    assert "sekrit" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert server.heard == []


def test_both_clients_have_the_same_methods() -> None:
    def methods(client: type) -> set[str]:
        return {name for name in vars(client) if not name.startswith("_")}

    assert methods(Desk) == methods(AsyncDesk)


def test_a_call_leaves_out_what_was_not_given_and_may_be_any_path(server: Server, desk: Desk) -> None:
    server.says = [(200, {}, {"results": []})]
    assert desk.send(get("reports", dict, limit=3, agent="")) == {"results": []}
    desk.send(post("things", dict, {"a": None, "b": [uuid4()]}, wait_s=5))
    assert server.heard[0]["path"] == "/api/v1/reports?limit=3"
    assert list(server.heard[1]["body"]) == ["b"]
    assert server.heard[1]["path"] == "/api/v1/things?wait=5"


def test_retry_after_is_read_in_both_forms(server: Server, desk: Desk) -> None:
    import httpx

    assert retry_after_s(httpx.Response(429, headers={"Retry-After": "12"})) == 12
    assert retry_after_s(httpx.Response(429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})) == 0
    for value in ("soon", f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT"):
        assert retry_after_s(httpx.Response(429, headers={"Retry-After": value})) is None
