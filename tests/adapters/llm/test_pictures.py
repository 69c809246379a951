"""What goes over the wire of a message that names pictures, in both of the usual forms, and what comes of a refusal."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reflection_app.adapters.llm import Completion, CompletionRequest, Message, ModelRefused, complete
from reflection_app.adapters.llm.pictures import LONGEST_SIDE_PX, MOST_PICTURES
from reflection_app.loops.values import Picture
from tests.adapters.llm.conftest import API_KEY, asking
from tests.anthropic_server import AnthropicServer, anthropic_parts
from tests.openai_server import OpenAIServer, Reply, SentPicture, openai_parts
from tests.pictures import png

Sent = list[str | SentPicture]
TEXT_ONLY = "This model does not support image input."
SCHEMA = {"type": "object", "properties": {"saw": {"type": "string"}}, "required": ["saw"]}


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Answers a call for one of the two forms: gives the server's model and the parts of its last message."""
    servers: list[OpenAIServer] = []

    def serve(answer: Callable[[dict[str, Any]], str | Reply]) -> tuple[OpenAIServer, str, Callable[[int], Sent]]:
        if request.param == "openai":
            server: OpenAIServer = OpenAIServer(answer).__enter__()
            monkeypatch.setenv("OPENAI_API_BASE", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
            read, model = openai_parts, "openai/house-eyes"
        else:
            server = AnthropicServer(answer).__enter__()
            assert isinstance(server, AnthropicServer)
            monkeypatch.setenv("ANTHROPIC_API_BASE", server.base)
            monkeypatch.setenv("ANTHROPIC_API_KEY", API_KEY)
            read, model = anthropic_parts, "anthropic/claude-sonnet-4-5"
        servers.append(server)
        return server, model, lambda at: read(server.requests[at].body["messages"][-1])

    yield serve
    for server in servers:
        server.__exit__()


def page(number: int = 1, *, side: int = 200) -> Picture:
    return Picture(sha256="ab" * 32, page=number, max_side_px=side)


def looking(model: str, pictures: dict[Picture, bytes], **changes: Any) -> CompletionRequest:
    messages = (
        Message(role="system", content="You look."),
        Message(role="user", content="What is on them?", pictures=tuple(pictures)),
    )
    return asking(model, messages=messages, pictures=pictures, **changes)


def test_pictures_go_before_the_text_each_after_its_number(wire: Callable[..., Any]) -> None:
    _server, model, parts = wire(lambda _body: Reply("A chart.", prompt_tokens=700, completion_tokens=9))
    first, second = png(60, 40), png(40, 60)
    answer: Completion = complete(looking(model, {page(1): first, page(2): second}))
    assert parts(0) == [
        "Picture 1:",
        SentPicture("image/png", first),
        "Picture 2:",
        SentPicture("image/png", second),
        "What is on them?",
    ]
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ("A chart.", 700, 9)
    assert not answer.is_estimated


def test_a_model_that_takes_no_pictures_says_so_and_is_not_asked_without_them(wire: Callable[..., Any]) -> None:
    server, model, parts = wire(lambda _body: Reply(TEXT_ONLY, status=400))
    with pytest.raises(ModelRefused, match="does not support image input") as failure:
        complete(looking(model, {page(): png(60, 40)}, json_schema=SCHEMA))
    assert failure.value.tries == len(server.requests) == 2, "the form is given up once, the picture never"
    for at in range(2):
        assert any(isinstance(part, SentPicture) for part in parts(at))


def test_the_same_pictures_go_along_with_every_retry(wire: Callable[..., Any]) -> None:
    replies = iter([Reply("busy", status=429, headers={"Retry-After": "0.01"}), Reply("A chart.")])
    server, model, parts = wire(lambda _body: next(replies))
    answer = complete(looking(model, {page(): png(60, 40)}))
    assert (answer.text, answer.tries, len(server.requests)) == ("A chart.", 2, 2)
    assert parts(0) == parts(1)


def test_pictures_count_among_the_tokens_where_the_provider_tells_none(
    configured: Callable[[OpenAIServer], None],
) -> None:
    with OpenAIServer(lambda _body: Reply("A chart.", tells_usage=False)) as server:
        configured(server)
        plain = complete(asking())
        seen = complete(looking("openai/house-eyes", {page(side=1_000): png(750, 1_000)}))
    assert plain.is_estimated
    assert seen.is_estimated
    assert 1_000 <= seen.prompt_tokens < 1_100, "750 pixels a token"


@pytest.mark.parametrize(
    ("pictures", "why"),
    [
        ({page(): b"%PDF-1.7"}, "no PNG"),
        ({page(): b""}, "no PNG"),
        ({page(): png(LONGEST_SIDE_PX + 1, 2)}, "too large"),
        ({page(number): png(2, 2) for number in range(1, MOST_PICTURES + 2)}, f"at most {MOST_PICTURES}"),
    ],
    ids=["another kind", "nothing", "too wide", "too many"],
)
def test_what_may_not_be_sent_is_refused_before_anything_is(
    pictures: dict[Picture, bytes], why: str, configured: Callable[[OpenAIServer], None]
) -> None:
    with OpenAIServer(lambda _body: "It is fine.") as server:
        configured(server)
        with pytest.raises(ModelRefused, match=why):
            complete(looking("openai/house-eyes", pictures))
        assert server.requests == []
