"""Every address of the desk as it was written down: bookmarks, links in mail and other people's scripts lead there."""

from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

WRITTEN = Path(__file__).with_name("addresses.txt")


def addresses(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        here = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield f"/{here} {one.name or '-'}"
        else:
            yield from addresses(one, here)


def test_no_address_and_no_name_of_one_has_changed() -> None:
    """Whoever adds or takes away an address does the same in tests/house/addresses.txt."""
    assert sorted(addresses(get_resolver())) == WRITTEN.read_text().splitlines()
