"""How many parts a body is made of, told before it is read: a few bytes of it may become hundreds in memory."""

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from reflection_app.loops.json_bounds import has_more_values

# A collector's usual batch has 8192 spans, with some hundred parts each.
MOST_PARTS = 1_000_000
# Read twenty times as slowly.
MOST_PARTS_OF_JSON = 500_000
VARINT, FIXED_64, DELIMITED, FIXED_32 = 0, 1, 2, 5


def has_many_parts_of_json(body: bytes) -> bool:
    """Whether it is made of more than is read."""
    return has_more_values(body, MOST_PARTS_OF_JSON)


def has_many_parts(body: bytes, message: Any) -> bool:
    """Whether the protobuf of such a message has more fields, at any depth, than are read.

    Ends where the body is none: the parser says so.
    """
    # None is shorter than its tag and its value.
    if len(body) < 2 * MOST_PARTS:
        return False
    left = MOST_PARTS
    waiting: list[tuple[int, int, Descriptor]] = [(0, len(body), message.DESCRIPTOR)]
    while waiting:
        at, end, descriptor = waiting.pop()
        inner = _messages_in(descriptor)
        while at < end:
            left -= 1
            if left < 0:
                return True
            tag, at = _varint(body, at, end)
            kind = tag & 7
            if kind == DELIMITED:
                length, at = _varint(body, at, end)
                if at + length > end:
                    return False
                if length and (found := inner.get(tag >> 3)) is not None:
                    waiting.append((at, at + length, found))
                at += length
            elif kind == VARINT:
                _, at = _varint(body, at, end)
            elif kind in {FIXED_64, FIXED_32}:
                at += 8 if kind == FIXED_64 else 4
            # Groups are of no message here; what is in them is counted like what stands around them.
    return False


def _messages_in(descriptor: Descriptor) -> dict[int, Descriptor]:
    """The kinds of messages within such a message, by the numbers of their fields."""
    if descriptor.full_name not in _KNOWN:
        _KNOWN[descriptor.full_name] = {
            field.number: field.message_type
            for field in descriptor.fields
            if field.type == FieldDescriptor.TYPE_MESSAGE
        }
    return _KNOWN[descriptor.full_name]


_KNOWN: dict[str, dict[int, Descriptor]] = {}


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that begins at this place, and the place after it."""
    value = shift = 0
    while at < end:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            break
        shift += 7
    return value, at
