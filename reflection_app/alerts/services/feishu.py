"""Feishu and Lark: custom bots with a card.

open.feishu.cn/document/client-docs/bot-v3/add-custom-bot: a request has at most 20 KB; a bot sends 100 messages a
minute, 5 a second; errors come with status 200 and a `code` that is not 0. The signature is the HMAC of nothing, keyed
with the time in seconds and the secret.
"""

import base64
import hashlib
import hmac
import json
from typing import Any

from reflection_app.alerts.services.notes import Address, Answered, Line, Note, Post, fitted, read_code

MOST_LINES = 20
MOST_BYTES = 20_000
FREQUENCY_LIMITED = 11232
# The token in the address is none (any more).
GONE = (19001,)


def request(note: Note, address: Address, *, now_s: float) -> Post:
    stamp = str(int(now_s))
    signed = {"timestamp": stamp, "sign": signature(address.secret, stamp)} if address.secret else {}

    def body(fitting: Note) -> bytes:
        return json.dumps({**signed, "msg_type": "interactive", "card": _card(fitting)}, ensure_ascii=False).encode()

    return Post(address.url, fitted(note, body, most_bytes=MOST_BYTES, most_lines=MOST_LINES))


def signature(secret: str, stamp: str) -> str:
    """What the service computes as well: `stamp` is in seconds and at most an hour old."""
    return base64.b64encode(hmac.new(f"{stamp}\n{secret}".encode(), b"", hashlib.sha256).digest()).decode("ascii")


def read(status: int, text: str) -> Answered:
    """`code` says it, whatever the status; bots of former days said `StatusCode`."""
    names = {"codes": ("code", "StatusCode"), "why": ("msg", "StatusMessage")}
    return read_code(status, text, too_fast=(FREQUENCY_LIMITED,), gone=GONE, **names)


def _card(note: Note) -> dict[str, Any]:
    elements: list[dict[str, Any]] = [element for line in note.lines for element in _elements(line)]
    elements.append({"tag": "markdown", "content": f"{note.rest} [{note.all_words}]({note.all_url})".strip()})
    return {
        "config": {"wide_screen_mode": True},
        "header": {"template": "blue", "title": {"tag": "plain_text", "content": note.title}},
        "elements": elements,
    }


def _elements(line: Line) -> list[dict[str, Any]]:
    """What somebody wrote is a plain text, in which there are no mentions and no links."""
    elements: list[dict[str, Any]] = [{"tag": "markdown", "content": f"[{line.words}]({line.url})"}]
    if line.excerpt:
        elements.append({"tag": "div", "text": {"tag": "plain_text", "content": line.excerpt}})
    return elements
