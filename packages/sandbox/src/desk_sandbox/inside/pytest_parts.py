"""The parts of `pytest.raises` and `pytest.fail` that scripts use."""

import re
from typing import Any

find = re.compile


class ExceptionInfo:
    """The raised exception; available after the block has ended."""

    def __init__(self) -> None:
        self.value: Any = None

    @property
    def type(self) -> Any:
        return type(self.value)

    @property
    def typename(self) -> str:
        return str(type(self.value).__name__)

    @property
    def tb(self) -> Any:
        return self.value.__traceback__

    def match(self, pattern: str) -> bool:
        text = str(self.value)
        assert find(pattern).search(text) is not None, f"{pattern!r} does not match {text!r}"
        return True

    def __str__(self) -> str:
        return repr(self.value)


class Raises:
    """A block that must raise one of these exceptions."""

    def __init__(self, expected: Any, match: Any = None) -> None:
        self.expected = expected if type(expected) is tuple else (expected,)
        for kind in self.expected:
            if not isinstance(kind, type) or BaseException not in type.mro(kind):
                raise TypeError(f"raises needs a class of exceptions, not {kind!r}")
        self.pattern = match
        self.info = ExceptionInfo()

    def __enter__(self) -> ExceptionInfo:
        return self.info

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        if kind is None:
            raise AssertionError("DID NOT RAISE " + " or ".join(one.__name__ for one in self.expected))
        # Without issubclass, which would call the metaclass.
        if not any(one in type.mro(type(value)) for one in self.expected):
            return False
        self.info.value = value
        if self.pattern is not None:
            self.info.match(self.pattern)
        return True


def raises(expected_exception: Any, *arguments: Any, match: Any = None, **named: Any) -> Any:
    """Return the block or, given a function, call it with its arguments and return the exception info."""
    block = Raises(expected_exception, match)
    if not arguments:
        return block
    function, *rest = arguments
    with block as info:
        function(*rest, **named)
    return info


def fail(reason: str = "", pytrace: bool = True) -> None:
    raise AssertionError(reason)
