"""Messages to each service against the shapes of its documentation, its signature, its limits, and its answers."""

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.alerts.models import ChannelKind
from reflection_app.alerts.services import answer_of, dingtalk, feishu, request_of
from reflection_app.alerts.services.notes import LONGEST_EXCERPT, Address, Line, Meaning, Note, inert

SHAPES = Path(__file__).with_name("shapes")
KINDS = list(ChannelKind)
URL = "https://hooks.example.com/send?access_token=abcdefgh"
# What each service takes at most, as bytes of the whole request; of WeCom the content counts.
MOST = {"slack": 40_000, "teams": 28 * 1024, "feishu": 20_000, "dingtalk": 20_000, "wecom": 6_000}
HOSTILE = (
    "<!channel> <!everyone> <@U123> @all @所有人 <at id=all></at> <at user_id=\"all\">x</at> "
    "[click](https://evil.example) https://evil.example www.evil.example *b* _i_ ~s~ `c` # h > q | t $x$ "
    "&lt;!here&gt; ![i](http://evil.example/i.png) "
    "<font color=\"warning\">x</font>\n- x\u202e\u200b\x07 {x} \\"
)  # fmt: skip


@cache
def validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads((SHAPES / f"{kind}.json").read_text()))


def note(*excerpts: str, words: str = "A review waits, since 12 min") -> Note:
    lines = tuple(Line(words, f"https://desk.example/p/x/reviews/{n}/", inert(e)) for n, e in enumerate(excerpts))
    return Note(
        title=f"Reflection Desk · {inert('Support <!here>')}",
        lines=lines,
        all_words="Open Reflection Desk",
        all_url="https://desk.example/p/x/",
        more=lambda number: f"And {number} more.",
    )


def body_of(kind: ChannelKind, message: Note, *, secret: str = "") -> Any:
    post = request_of(kind, message, Address(URL, secret), now_s=1_599_360_473.4)
    body = json.loads(post.body)
    validator(kind.value).validate(body)
    assert len(post.body) <= MOST[kind.value]
    return body


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_in(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_in(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_has_the_shape_of_its_service_and_leads_to_the_very_page(kind: ChannelKind) -> None:
    said = "\n".join(texts_in(body_of(kind, note("Refund of order 7", "Second"))))
    assert "A review waits, since 12 min" in said
    assert "Refund of order 7" in said
    for address in (
        "https://desk.example/p/x/reviews/0/",
        "https://desk.example/p/x/reviews/1/",
        "https://desk.example/p/x/",
    ):
        assert address in said


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_somebody_wrote_calls_people_or_leads_anywhere(kind: ChannelKind) -> None:
    text = "\n".join(texts_in(body_of(kind, note(HOSTILE[:80], HOSTILE[80:160], HOSTILE[160:240], HOSTILE[240:]))))
    # Take away the links and marks of the desk; what is left of hostile characters came from somebody.
    for refused in (
        "<!",
        "<@",
        "@all",
        "@所有人",
        "<at",
        "](https://evil",
        "://evil",
        "evil.example",
        "www.",
        "<font",
        "&lt;!",
    ):
        assert refused not in text, refused


@given(st.text(max_size=400))
def test_an_excerpt_is_one_short_line_without_a_character_that_does_anything(text: str) -> None:
    shown = inert(text)
    assert len(shown) <= LONGEST_EXCERPT
    assert not set(shown) & set("<>[](){}*_`~#@|\\!&\"'$\n\r\t\u200b\u202e\u2028")
    assert "://" not in shown


def test_an_excerpt_stays_readable() -> None:
    assert inert("Résumé of 3 orders: pay 4 €, 订单 7") == "Résumé of 3 orders: pay 4 €, 订单 7"
    assert inert("see evil.example/x") == "see evil․example/x"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written", ["x" * 80, "🙂" * 80])
def test_many_things_fit_into_what_the_service_takes_and_the_rest_is_counted(kind: ChannelKind, written: str) -> None:
    body = body_of(kind, note(*[written] * 500, words="逾期:一项审核已等待 3 小时,目标是 1 小时"))
    said = "\n".join(texts_in(body))
    kept = said.count("/reviews/") if kind is not ChannelKind.SLACK else len(body["blocks"]) - 2
    assert kept > 0
    assert f"And {500 - kept} more." in said
    if kind is ChannelKind.WECOM:
        assert len(body["markdown"]["content"].encode()) <= 4_096


def test_feishu_is_signed_in_the_body() -> None:
    """The value is openssl's, for the empty message and the key "<time>\\n<secret>"."""
    body = body_of(ChannelKind.FEISHU, note("x"), secret="a secret")
    assert (body["timestamp"], body["sign"]) == ("1599360473", "eTg8Qp+HgWMjxa6/iVgiurCxDgD+QQueoZ1rl9zKPUE=")
    assert feishu.signature("another", "1599360473") != body["sign"]
    assert "sign" not in body_of(ChannelKind.FEISHU, note("x"))


def test_dingtalk_is_signed_in_the_address() -> None:
    """The value is openssl's, for the message "<milliseconds>\\n<secret>" and the secret as the key."""
    assert dingtalk.signature("SECabc", "1599360473000") == "3SJkK5Fm70JVVkwmvZFkgdPlr53Kn2utLHLz9DzuOSc="
    post = request_of(ChannelKind.DINGTALK, note("x"), Address(URL, "SECabc"), now_s=1_599_360_473.0)
    asked = parse_qs(urlsplit(post.url).query, strict_parsing=True)
    assert asked == {
        "access_token": ["abcdefgh"],
        "timestamp": ["1599360473000"],
        "sign": [dingtalk.signature("SECabc", "1599360473000")],
    }
    assert request_of(ChannelKind.DINGTALK, note("x"), Address(URL), now_s=1.0).url == URL


ANSWERS = json.loads((SHAPES / "answers.json").read_text())


@pytest.mark.parametrize(
    ("kind", "status", "text", "meaning"),
    [(kind, *answer) for kind in KINDS for answer in ANSWERS[kind.value]],
)
def test_an_answer_means_what_the_service_says_and_not_what_the_status_does(
    kind: ChannelKind, status: int, text: str, meaning: str
) -> None:
    answered = answer_of(kind, status, text)
    assert answered.meaning.value == meaning
    assert answered.why or meaning == "arrived" or not text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", ["1e999", "NaN", "[]"])
def test_a_code_that_is_no_number_is_no_success(kind: ChannelKind, code: str) -> None:
    answered = answer_of(kind, 500, f'{{"code": {code}, "errcode": {code}, "error": 1}}')
    assert answered.meaning is Meaning.FAILED


def test_an_address_is_in_no_representation() -> None:
    address = Address(URL, "a secret")
    post = request_of(ChannelKind.SLACK, note("x"), address, now_s=1.0)
    assert "abcdefgh" not in f"{address!r}{post!r}"
    assert "secret" not in repr(address)
