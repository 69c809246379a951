"""Addresses with {arguments} in them. An argument fills a part of the path or the query, and never leaves it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from reflection_app.adapters.tools.errors import UnusableArguments

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})\}")
_PARTS = re.compile(r"(https?://[^/?#]+)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
EXAMPLE = "x"


def template_problems(template: str) -> Iterator[str]:
    """What is wrong with the template, a sentence each."""
    parts = _PARTS.fullmatch(template)
    if parts is None:
        yield "an address begins with http:// or https://, names a host, and has no #fragment"
        return
    if "{" in parts[1] or "}" in parts[1]:
        yield "{arguments} may stand in the path and the query, not in the host or port"
    if re.search(r"[{}]", PLACEHOLDER.sub("", template)):
        yield "write an argument as {name}; braces have no other use here"


def placeholders(template: str) -> list[str]:
    """The arguments that the template asks for."""
    return list(dict.fromkeys(PLACEHOLDER.findall(template)))


def example_of(template: str) -> str:
    """An address that the template can come to; its host is that of all others."""
    return PLACEHOLDER.sub(EXAMPLE, template)


def expand(template: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The address, and the arguments that it did not take up. Raises UnusableArguments."""
    asked = placeholders(template)
    missing = [name for name in asked if arguments.get(name) is None]
    if missing:
        raise UnusableArguments(f"The address needs the argument {missing[0]!r}.")
    parts = _PARTS.fullmatch(template)
    assert parts is not None
    quoted = {name: quote(as_text(arguments[name]), safe="", errors="replace") for name in asked}
    path, query = (PLACEHOLDER.sub(lambda found: quoted[found[1]], part or "") for part in parts.groups()[1:])
    for before, after in zip(parts[2].split("/"), path.split("/"), strict=True):
        # A whole step of the path that an argument made: nothing would stay of it, or it would climb up.
        if before != after and after.lower() in {"", ".", ".."}:
            raise UnusableArguments(f"{after!r} cannot be a part of the address.")
    return parts[1] + path + query, {name: value for name, value in arguments.items() if name not in asked}


def as_text(value: Any) -> str:
    """A JSON value as it stands in an address: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
