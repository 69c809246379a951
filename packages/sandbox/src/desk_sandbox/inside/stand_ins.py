"""Placeholders for the code under test, to find tests that fail before they reach the code.

They can be named, called and asked for attributes. Any other use ends the test as having reached the code.
"""

from types import ModuleType
from typing import Any

# The result of such an operation on real code is unknown, so the test ends there.
OPERATIONS = (
    "repr str bytes format lt le eq ne gt ge hash bool len length_hint getitem setitem delitem iter next reversed "
    "contains add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or "
    "radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror "
    "iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ixor ior "
    "neg pos abs invert complex int float index round trunc floor ceil enter exit aenter aexit await aiter anext "
    "mro_entries set_name fspath reduce_ex instancecheck subclasscheck dir"
)


class Touched(BaseException):
    """The test has reached the code."""


class StandIn:
    """Placeholder for anything that the code may define or return."""

    is_touched = is_touched_by_set_up = False

    def __call__(self, *_arguments: Any, **_named: Any) -> Any:
        StandIn.is_touched = True
        return StandIn()

    def __getattr__(self, name: str) -> Any:
        StandIn.is_touched = True
        if name.startswith("__"):
            raise Touched
        return StandIn()

    def __setattr__(self, _name: str, _value: Any) -> None:
        StandIn.is_touched = True


def touch(*_arguments: Any, **_named: Any) -> Any:
    StandIn.is_touched = True
    raise Touched


for operation in OPERATIONS.split():
    setattr(StandIn, f"__{operation}__", touch)


class StandInModule(ModuleType):
    """A module that defines every requested name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()


def is_own_fault(error: BaseException) -> bool:
    """Return True if a test that reached the code is broken anyway, because it uses an undefined name."""
    if isinstance(error, AttributeError):
        return isinstance(error.obj, ModuleType)
    return isinstance(error, NameError | ImportError)
