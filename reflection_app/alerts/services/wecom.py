"""WeCom: robots of a group, with Markdown; the key in the address is all that they check.

developer.work.weixin.qq.com/document/path/91770: a robot sends 20 messages a minute; the content has 4,096 bytes of
UTF-8 at most; errors come with status 200 and an `errcode` that is not 0.
"""

import json

from reflection_app.alerts.services.dingtalk import read_errcode
from reflection_app.alerts.services.notes import Address, Answered, Note, Post, fitted

MOST_LINES = 20
MOST_BYTES = 4_096
TOO_FAST = (45009, 45033)
# The address is none (any more).
GONE = (93000,)


def request(note: Note, address: Address, *, now_s: float) -> Post:
    content = fitted(note, _content, most_bytes=MOST_BYTES, most_lines=MOST_LINES).decode()
    message = {"msgtype": "markdown", "markdown": {"content": content}}
    return Post(address.url, json.dumps(message, ensure_ascii=False).encode())


def read(status: int, text: str) -> Answered:
    """`errcode` says it, whatever the status."""
    return read_errcode(status, text, too_fast=TOO_FAST, gone=GONE)


def _content(note: Note) -> bytes:
    lines = [f"> [{line.words}]({line.url}){f' {line.excerpt}' if line.excerpt else ''}" for line in note.lines]
    parts = [f"**{note.title}**", *lines, note.rest, f"[{note.all_words}]({note.all_url})"]
    return "\n".join(part for part in parts if part).encode()
