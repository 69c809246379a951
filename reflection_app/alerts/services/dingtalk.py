"""DingTalk: custom robots of a group, with Markdown.

open.dingtalk.com/document/robots/custom-robot-access: a robot sends 20 messages a minute, and is held back for ten
where it sends more; a message has at most 20,000 bytes; errors come with status 200 and an `errcode` that is not 0. The
signature is the HMAC of the time in milliseconds and the secret, and stands in the address.
"""

import base64
import hashlib
import hmac
import json
from functools import partial
from urllib.parse import urlencode

from reflection_app.alerts.services.notes import Address, Answered, Note, Post, fitted, read_code

MOST_LINES = 20
MOST_BYTES = 18_000
TOO_FAST = (130101, 410100)
# No such token; the robot was removed or switched off; the group was dissolved.
GONE = (300005, 400013, 400101, 400102, 400106)


def request(note: Note, address: Address, *, now_s: float) -> Post:
    url = address.url
    if address.secret:
        stamp = str(int(now_s * 1000))
        mark = "&" if "?" in url else "?"
        url += mark + urlencode({"timestamp": stamp, "sign": signature(address.secret, stamp)})
    return Post(url, fitted(note, _body, most_bytes=MOST_BYTES, most_lines=MOST_LINES))


def signature(secret: str, stamp: str) -> str:
    """What the service computes as well, before it is written into an address: `stamp` is in milliseconds."""
    signed = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
    return base64.b64encode(signed).decode("ascii")


def read(status: int, text: str) -> Answered:
    """`errcode` says it, whatever the status."""
    return read_errcode(status, text, too_fast=TOO_FAST, gone=GONE)


read_errcode = partial(read_code, codes=("errcode",), why=("errmsg",))


def _body(note: Note) -> bytes:
    lines = [f"- [{line.words}]({line.url}){f' {line.excerpt}' if line.excerpt else ''}" for line in note.lines]
    parts = [f"#### {note.title}", "\n".join(lines), note.rest, f"[{note.all_words}]({note.all_url})"]
    text = "\n\n".join(part for part in parts if part)
    message = {
        "msgtype": "markdown",
        "markdown": {"title": note.title, "text": text},
        "at": {"atMobiles": [], "atUserIds": [], "isAtAll": False},
    }
    return json.dumps(message, ensure_ascii=False).encode()
