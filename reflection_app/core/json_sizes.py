"""How large a part of what is handed in may be, as JSON."""

import json
from typing import Any

from pydantic import AfterValidator, TypeAdapter


def check_size(value: Any, *, longest: int) -> None:
    """Raises ValueError where `value` takes more than `longest` bytes as JSON."""
    plain = TypeAdapter(type(value)).dump_python(value, mode="json")
    size = len(json.dumps(plain, ensure_ascii=False).encode(errors="surrogatepass"))
    if size > longest:
        raise ValueError(f"takes {size:,} bytes as JSON; the most is {longest:,}")


def at_most(longest: int) -> AfterValidator:
    """A validator that refuses what takes more than `longest` bytes as JSON."""

    def checked[T](value: T) -> T:
        check_size(value, longest=longest)
        return value

    return AfterValidator(checked)
