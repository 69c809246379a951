"""The Chinese words: complete, sound, and the compiled file is the one that the written one compiles to."""

import io
import re
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings

WRITTEN = settings.BASE_DIR / "locale/zh_Hans/LC_MESSAGES/django.po"
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|<(?:code|strong|kbd|a|span|em)\b|\{\w+\}")


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    with WRITTEN.open("rb") as file:
        return read_po(file, locale="zh_Hans", abort_invalid=True)


def _messages(catalogue: Catalog) -> Iterator[tuple[Message, str, str]]:
    """Each message with its longest English form and its Chinese one."""
    for message in catalogue:
        if message.id:
            english = message.id[-1] if isinstance(message.id, list | tuple) else message.id
            chinese = message.string[0] if isinstance(message.string, list | tuple) else message.string
            yield message, str(english), str(chinese)


def test_every_word_has_a_chinese_one(catalogue: Catalog) -> None:
    assert len(list(_messages(catalogue))) > 50
    assert [english for message, english, chinese in _messages(catalogue) if not chinese or message.fuzzy] == []


def test_no_placeholder_is_lost_or_invented(catalogue: Catalog) -> None:
    """A missing one hides a number; an unknown one breaks the page."""
    for _, english, chinese in _messages(catalogue):
        if chinese:
            assert set(PLACEHOLDER.findall(english)) == set(PLACEHOLDER.findall(chinese)), english


def test_the_compiled_file_is_that_of_the_written_one(catalogue: Catalog) -> None:
    """Django reads the compiled one only, and users have nothing to compile it with."""
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    assert WRITTEN.with_suffix(".mo").read_bytes() == compiled.getvalue(), "run `make messages`"
