"""Integrations with agent frameworks. Each module needs the extra of the same name, such as `[langgraph]`."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Raise ImportError with the name of the missing extra if an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f"{error.name} is not installed: install reflection-desk-client[{extra}]") from error
