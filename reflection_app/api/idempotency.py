"""`Idempotency-Key`: a request that is sent again is answered again, and carried out once."""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.problems import KeyReused
from reflection_app.api.reading import is_json, read_body
from reflection_app.api.view import DeskView
from reflection_app.core.errors import ActionError, wrong
from reflection_app.core.models import IdempotentAnswer

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
WAIT = "wait"
USABLE = re.compile(r"[\x20-\x7e]{1,200}")


class ShownOnce(Response):
    """An answer that holds a secret: a request that is sent again gets `kept`, which holds none."""

    def __init__(self, data: Any, *, kept: Any, status: int) -> None:
        super().__init__(data, status)
        self.kept = kept


def answer_once(view: DeskView, carry_out: Callable[[], Response]) -> Response:
    """What `carry_out` answers, which is done once per idempotency key of the view's request.

    A refusal is not kept: the same key may be tried again.
    """
    request = view.request
    key = request.headers.get(HEADER)
    if key is None:
        return carry_out()
    if not USABLE.fullmatch(key):
        raise wrong(HEADER, "1 to 200 printable ASCII characters", said=f"{HEADER} is not usable.")
    with transaction.atomic():
        # A request with the same key waits here, on the unique index, until this one has committed or given up.
        answer, is_first = IdempotentAnswer.objects.get_or_create(
            api_key=view.key, key=key, defaults={"fingerprint": fingerprint(request)}
        )
        if not is_first:
            # Rows of before keys were put in order have the hash of the very bytes.
            if answer.fingerprint not in {fingerprint(request), _hash(request, request.body)}:
                raise KeyReused(f"This {HEADER} was used for another request. Use a new one; nothing was changed.")
            tag = {"ETag": answer.etag} if answer.etag else {}
            return Response(answer.body, answer.status, headers={REPLAYED: "true"} | tag)
        response = carry_out()
        answer.status = response.status_code
        answer.body = response.kept if isinstance(response, ShownOnce) else response.data
        answer.etag = response.headers.get("ETag", "")
        answer.save(update_fields=["status", "body", "etag"])
    return response


def is_answered(view: DeskView) -> bool:
    """Whether a request with this idempotency key was answered: what is asked of others for it need not be again."""
    key = view.request.headers.get(HEADER)
    return key is not None and IdempotentAnswer.objects.filter(api_key=view.key, key=key, status__isnull=False).exists()


def replayed(answer: Response) -> dict[str, str]:
    """The header that says so, where `answer` is that of an earlier request."""
    return {REPLAYED: "true"} if answer.headers.get(REPLAYED) else {}


def fingerprint(request: Request) -> str:
    """Hash of method, path, query and body; not of how long the caller would wait, which a second try may change.

    Of JSON it is what the body says that counts: neither the order of keys nor white space does.
    """
    body = bytes(request.body)
    if is_json(request) and body.strip():
        # Of one that is not understood, the call itself says what is wrong, if it reads it.
        with suppress(ActionError):
            body = json.dumps(read_body(request), sort_keys=True, separators=(",", ":")).encode()
    return _hash(request, body)


def _hash(request: Request, body: bytes) -> str:
    query = urlencode([(name, value) for name, value in parse_qsl(request.META["QUERY_STRING"], True) if name != WAIT])
    line = f"{request.method} {request.path}{'?' if query else ''}{query}\n".encode()
    return hashlib.sha256(line + body).hexdigest()
