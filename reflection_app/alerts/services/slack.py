"""Slack: incoming webhooks with Block Kit.

docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, docs.slack.dev/reference/block-kit/blocks: at most 50
blocks, 3,000 characters in a section, 150 in a header. Errors come as a word of plain text, mostly with their own
status.
"""

import json
from typing import Any

from reflection_app.alerts.services.notes import Address, Answered, Line, Meaning, Note, Post, fitted

MOST_LINES = 20
MOST_BYTES = 40_000
LONGEST_HEADER = 150
# What is answered where the webhook or its room is no more.
GONE = ("no_service", "no_service_id", "no_team", "team_disabled", "channel_is_archived", "channel_not_found")


def request(note: Note, address: Address, *, now_s: float) -> Post:
    return Post(address.url, fitted(note, _body, most_bytes=MOST_BYTES, most_lines=MOST_LINES))


def read(status: int, text: str) -> Answered:
    """A success is the word `ok`; whatever else is answered, also with 200, is none."""
    said = text.strip()
    if status == 200 and said == "ok":
        return Answered(Meaning.ARRIVED)
    if status == 429:
        return Answered(Meaning.SLOWER, said)
    return Answered(Meaning.GONE if status == 410 or said in GONE else Meaning.FAILED, said)


def _body(note: Note) -> bytes:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": note.title[:LONGEST_HEADER], "emoji": False}},
        *(_section(line) for line in note.lines),
        {"type": "section", "text": _marked(f"{_escaped(note.rest)} {_link(note.all_url, note.all_words)}".strip())},
    ]
    message = {
        # What is read out, and shown where blocks are not.
        "text": _escaped(note.text)[:3_000],
        "blocks": blocks,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return json.dumps(message, ensure_ascii=False).encode()


def _section(line: Line) -> dict[str, Any]:
    """In a plain text nothing of what somebody wrote can be a mention, a link or a mark."""
    section: dict[str, Any] = {"type": "section", "text": _marked(_link(line.url, line.words))}
    if line.excerpt:
        section["fields"] = [{"type": "plain_text", "text": line.excerpt, "emoji": False}]
    return section


def _marked(text: str) -> dict[str, Any]:
    # Verbatim: names of rooms and people in it stay text.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _link(url: str, words: str) -> str:
    return f"<{_escaped(url)}|{_escaped(words).replace('|', '¦')}>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
