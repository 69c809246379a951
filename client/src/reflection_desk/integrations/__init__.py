"""For agents that are written with a framework: each file needs the extra of its name, and nothing else imports it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Says which extra is missing, where an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f"{error.name} is missing: install reflection-desk-client[{extra}]") from error
