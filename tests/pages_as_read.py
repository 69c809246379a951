"""Pages as a reader sees them: where a template breaks its lines is nothing that a test is about."""

import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.http import HttpResponseBase
from django.test import Client

# What a browser shows as it is written.
AS_WRITTEN = re.compile(r"(<(pre|textarea|script|style)\b.*?</\2>)", re.DOTALL)
TAG = re.compile(r"<[a-zA-Z](?:[^<>\"]|\"[^\"]*\")*>")
BLOCK = (
    "html|head|body|title|link|meta|main|header|footer|nav|aside|section|article|form|fieldset|legend|details|summary|"
    "div|p|h1|h2|h3|h4|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|th|td|option|select|datalist|template|figure"
)
# Line breaks that show nothing: after a tag that opens, before one that closes, beside a block.
UNSEEN = re.compile(
    rf"(?<=>)\s*\n\s*(?=</?(?:{BLOCK})\b)|\s*\n\s*(?=</)|(</(?:{BLOCK})>)\s*\n\s*|(<[a-z][^<>]*>)\s*\n\s*"
)


def read(html: str) -> str:
    """The page with the line breaks of its templates as a browser shows them: as one space, or not at all."""
    parts = AS_WRITTEN.split(html)
    for at in range(0, len(parts), 3):
        in_tags = TAG.sub(lambda tag: re.sub(r"\s*\n\s*", " ", tag[0]).replace(" >", ">"), parts[at])
        parts[at] = re.sub(r"\s*\n\s*", " ", UNSEEN.sub(r"\1\2", in_tags))
    return "".join(part for at, part in enumerate(parts) if at % 3 != 2)


@pytest.fixture(autouse=True)
def _read_pages() -> Iterator[None]:
    request = Client.request

    def reading(self: Client, **asked: Any) -> HttpResponseBase:
        response = request(self, **asked)
        headers = response.headers
        is_page = headers.get("Content-Type", "").startswith("text/html") and "Content-Encoding" not in headers
        if is_page and not response.streaming:
            response.content = read(response.content.decode()).encode()
        return response

    with patch.object(Client, "request", reading):
        yield
