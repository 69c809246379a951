"""Tools that are HTTP requests."""

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from mimetypes import guess_extension
from typing import Any
from urllib.parse import urlencode

from reflection_app.adapters.outgoing import OutgoingAnswer, OutgoingRequest, origin_of, send
from reflection_app.adapters.tools.config import BODY_METHODS, MOST_BYTES, HttpConfig, told
from reflection_app.adapters.tools.secrets import Secrets
from reflection_app.adapters.tools.url_template import as_text, expand
from reflection_app.loops.tool_calls import ToolFailure, ToolResult

LONGEST_RETRY_AFTER_S = 86_400.0
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml")
TEXT_ENDINGS = ("+json", "+xml", "+yaml")


def call_http(
    config: HttpConfig, arguments: Mapping[str, Any], *, secrets: Secrets, idempotency_key: str, deadline_s: float
) -> ToolResult:
    """What the server answered. Raises OutgoingError, Misconfigured or UnusableArguments."""
    request = request_for(config, arguments, secrets=secrets, idempotency_key=idempotency_key)
    return result_of(send(request, deadline_s=deadline_s, most_bytes=MOST_BYTES), redact=secrets.redact)


def request_for(
    config: HttpConfig, arguments: Mapping[str, Any], *, secrets: Secrets, idempotency_key: str
) -> OutgoingRequest:
    """The request, with the values of secrets in it."""
    url, rest = expand(config.url, arguments)
    headers = {"Accept": "application/json, text/*;q=0.9, */*;q=0.1", "Idempotency-Key": idempotency_key}
    body = b""
    if config.method in BODY_METHODS:
        body = json.dumps(rest, ensure_ascii=False).encode("utf-8", "replace")
        headers["Content-Type"] = "application/json"
    elif rest:
        pairs = [
            (name, as_text(one))
            for name, value in rest.items()
            if value is not None
            for one in (value if isinstance(value, list) else [value])
        ]
        url += ("&" if "?" in url else "?") + urlencode(pairs, errors="replace")
    own = secrets.fill(config.headers, origin=origin_of(url))
    set_here = {name.lower() for name in own}
    headers = {name: value for name, value in headers.items() if name.lower() not in set_here}
    return OutgoingRequest(method=config.method, url=url, headers=headers | own, body=body)


def result_of(answer: OutgoingAnswer, *, redact: Callable[[str], str]) -> ToolResult:
    """The answer as a result: its text, and whether its status means success.

    Redacted before it is shortened: half a secret would not be found any more.
    """
    media_type = answer.media_type
    is_text = not media_type or media_type.startswith(TEXT_TYPES) or media_type.endswith(TEXT_ENDINGS)
    content = (
        redact(answer.text) if is_text else f"({len(answer.body):,} bytes of {media_type[:100]}, which is no text)"
    )
    if 200 <= answer.status < 300:
        result = told(content, status=answer.status)
        name = _file_name(answer, media_type=media_type, is_text=is_text)
        if not name or not answer.body:
            return result
        return result.with_files([(name, content.encode() if is_text else answer.body)])
    phrase = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else ""
    return told(
        content,
        failure=ToolFailure.HTTP_STATUS,
        error=f"The server answered {answer.status} {phrase}".rstrip() + ".",
        status=answer.status,
        retry_after_s=retry_after_s(answer.headers.get("retry-after", ""), now=time.time()),
    )


def _file_name(answer: OutgoingAnswer, *, media_type: str, is_text: bool) -> str:
    """The name of the file that the answer is; nothing where it is a text that claims to be none."""
    header = Message()
    header["content-disposition"] = answer.headers.get("content-disposition", "")
    named = header.get_filename() or ""
    if header.get_content_disposition() != "attachment" and is_text:
        return ""
    return named.replace("\\", "/").rsplit("/", 1)[-1] or f"answer{guess_extension(media_type) or ''}"


def retry_after_s(text: str, *, now: float) -> float | None:
    """The seconds of a Retry-After header, given as a number or as a date; None where it says nothing usable."""
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_RETRY_AFTER_S)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    left_s = (at - datetime.fromtimestamp(now, UTC)).total_seconds()
    return min(max(left_s, 0.0), LONGEST_RETRY_AFTER_S)
