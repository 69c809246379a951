"""Microsoft Teams: the webhook of a workflow ("When a Teams webhook request is received") with an Adaptive Card.

learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using: 28 KB a message
at most. The connectors of Office 365, with other addresses and cards, are retired.
"""

import json
from typing import Any

from reflection_app.alerts.services.notes import Address, Answered, Line, Meaning, Note, Post, fitted

MOST_LINES = 20
MOST_BYTES = 28_000
# Of the connectors that are no more.
RETIRED = ("webhook.office.com", "outlook.office.com", "outlook.office365.com")
GONE = ("WorkflowNotFound", "WorkflowTriggerIsNotEnabled", "WorkflowIsNotEnabled")


def request(note: Note, address: Address, *, now_s: float) -> Post:
    return Post(address.url, fitted(note, _body, most_bytes=MOST_BYTES, most_lines=MOST_LINES))


def read(status: int, text: str) -> Answered:
    """202 where the workflow has it; a gateway in between may answer 200 with the error in words."""
    said = text.strip()
    if status == 429:
        return Answered(Meaning.SLOWER, said)
    if 200 <= status < 300 and "error" not in said.lower():
        return Answered(Meaning.ARRIVED)
    return Answered(Meaning.GONE if status == 410 or any(code in said for code in GONE) else Meaning.FAILED, said)


def _body(note: Note) -> bytes:
    body: list[dict[str, Any]] = [
        {"type": "TextBlock", "text": note.title, "weight": "Bolder", "size": "Medium", "wrap": True},
        *(_container(line) for line in note.lines),
    ]
    if note.rest:
        body.append({"type": "TextBlock", "text": note.rest, "isSubtle": True, "wrap": True})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": note.title,
        "msteams": {"width": "Full"},
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": note.all_words, "url": note.all_url}],
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": content_type, "contentUrl": None, "content": card}
    return json.dumps({"type": "message", "attachments": [attachment]}, ensure_ascii=False).encode()


def _container(line: Line) -> dict[str, Any]:
    """A text block reads Markdown, which links of ours need; a run of rich text reads none."""
    items: list[dict[str, Any]] = [{"type": "TextBlock", "text": f"[{line.words}]({line.url})", "wrap": True}]
    if line.excerpt:
        run = {"type": "TextRun", "text": line.excerpt, "isSubtle": True}
        items.append({"type": "RichTextBlock", "inlines": [run]})
    return {"type": "Container", "spacing": "Medium", "items": items}
