"""Identifiers of rows: UUIDv7 (RFC 9562), so that they sort by the time they were made."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    return uuid7()


def id_from(text: str) -> UUID | None:
    """The identifier that somebody typed or sent; None where it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None
