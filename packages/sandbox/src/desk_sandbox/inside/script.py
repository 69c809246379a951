"""Work of a forked child for a script: load the candidate, then run the script's statements and tests in its namespace.

The candidate and its judge share a process here. Assertions that compare with a literal are judged outside: the script
reports the value, and the literal is not in here. In other equalities, an object's own claim is not trusted if one side
is plain data. The nonce is sent only after the candidate was loaded, and every record must carry it. Builtins that the
script uses are the original ones. A child that exits before its last record has failed.

With `stand_ins` in the job there is no candidate. The names that a candidate would define are placeholders, and a test
that fails before it reaches one of them is broken.

Remaining weakness: a candidate that knows this file can find pipe, nonce and literals in the frames above it, or change
modules that the script uses. That requires a script that asserts anything but an equality, or compares two objects of
the candidate's own classes. It is also possible if literals are in loops, in conditions, or in functions that are no
tests.
"""

import builtins
import posix
import sys
from types import CoroutineType, FunctionType, ModuleType
from typing import Any, NoReturn

from desk_sandbox.inside.approx import Approx
from desk_sandbox.inside.child import failure_fields, flush, leave, load, send_whole
from desk_sandbox.inside.encode import (
    SCRIPT_FILE,
    Encoder,
    TooLarge,
    describe,
    quote,
    safe_repr,
    write_object,
)
from desk_sandbox.inside.equality import FORGED_TEXT, Forged, equal, is_instance, proven
from desk_sandbox.inside.pytest_parts import fail, raises
from desk_sandbox.inside.stand_ins import StandIn, StandInModule, Touched, is_own_fault

SOLUTION = "solution"
MOST_TOLD = 1024 * 1024
TOUCHED = {"kind": '"touched"', "error": '""'}
read = posix.read
TRUE_BUILTINS = dict(vars(builtins))


class Pair:
    """Both sides of a failed `assert a == b`; the argument of the AssertionError."""

    def __init__(self, actual: Any, expected: Any, message: Any = None) -> None:
        self.actual, self.expected, self.message = actual, expected, message

    def __repr__(self) -> str:
        return "not equal" if self.message is None else str(self.message)


def run_script(job: dict[str, Any], done: set[int], dead: set[int], report_end: int, secret: int) -> NoReturn:
    """Report the items: `B` starts a test, `E` is its result, `P` is set-up or repetition, `Z` is the end.

    Items in `dead` ended an earlier child and are skipped.
    """
    module: ModuleType = StandInModule(SOLUTION)
    if job["stand_ins"] is None:
        try:
            module = load(job["code"], name="candidate")
        except BaseException as error:  # noqa: BLE001 - the child must report it
            fields = failure_fields(error, job["code"])
            send_whole(report_end, b"F " + write_object(**fields, unloaded="true").encode("ascii") + b"\n")
            leave(0)
    else:
        module.__dict__.update({name: StandIn() for name in job["stand_ins"]})
    space = module.__dict__
    vars(builtins).clear()
    vars(builtins).update(TRUE_BUILTINS)
    sys.modules[SOLUTION] = module
    # The script gets its own copy, because the candidate may have changed the one it imported.
    for name in [name for name in sys.modules if name == "unittest" or name.startswith("unittest.")]:
        del sys.modules[name]
    space.update(__builtins__=builtins, __file__=SCRIPT_FILE)
    told = Told()
    own = {f"__true_{name}__": value for name, value in TRUE_BUILTINS.items()}
    own |= {"__true_isinstance__": is_instance, "__approx__": Approx, "__raises__": raises, "__fail__": fail}
    own |= {"__pair__": Pair, "__tell__": told.tell, "__equal__": equal, "__sides__": proven}
    send_whole(report_end, b"L\n")
    reporter = Reporter(report_end, read(secret, 64), told)
    for index, item in enumerate(job["items"]):
        if index in dead or item["kind"] == "skip" or (index in done and item["kind"] == "call"):
            continue
        space.update(own)  # an earlier test may have let the candidate change them
        if not run_item(index, item, job, space, reporter, again=index in done):
            break
    else:
        reporter.say(b"Z", 0)
    flush()
    leave(0)


class Reporter:
    """Writes records that begin with the nonce."""

    def __init__(self, fd: int, nonce: bytes, told: "Told") -> None:
        self.fd, self.nonce, self.told = fd, nonce, told

    def say(self, letter: bytes, index: int, report: str = "") -> None:
        send_whole(self.fd, b"%s %s %d %s\n" % (self.nonce, letter, index, report.encode("ascii")))


def run_item(
    index: int, item: dict[str, Any], job: dict[str, Any], space: dict[str, Any], reporter: Reporter, *, again: bool
) -> bool:
    """Run one item. Return False if the script cannot continue, after a failed set-up statement."""
    is_test = item["kind"] != "setup"
    reporter.say(b"P" if again or not is_test else b"B", index)
    reporter.told.begin()
    StandIn.is_touched = StandIn.is_touched_by_set_up
    report: dict[str, str] = {"ok": "true"}
    try:
        if item["kind"] == "call":
            call_test(item["path"], space)
        else:
            exec(item["code"], space)  # noqa: S102 - the purpose of the place
    except BaseException as error:  # noqa: BLE001 - the child must report it
        try:
            report = broken(error, job)
        except Touched:  # raised while describing the error
            report = dict(TOUCHED)
        if not is_test:
            flush()
            reporter.say(b"S", index, write_object(**report))
            return False
    else:
        if StandIn.is_touched:
            report = dict(TOUCHED)
    StandIn.is_touched_by_set_up |= StandIn.is_touched and not is_test
    if is_test and not again:
        flush()
        reporter.say(b"E", index, write_object(**report, told=reporter.told.read()))
    return True


def broken(error: BaseException, job: dict[str, Any]) -> dict[str, str]:
    """Return the report on a test that raised, with both sides of a failed equality."""
    if StandIn.is_touched and not is_own_fault(error):
        return dict(TOUCHED)
    if type(error) is Forged:
        return {"kind": '"forged"', "error": quote(FORGED_TEXT)}
    if not isinstance(error, AssertionError):
        return failure_fields(error, job["code"], job["script"])
    pair = error.args[0] if type(error) is AssertionError and error.args else None
    fields = {"kind": '"assertion"', "error": describe(error, job["code"], job["script"])}
    if type(pair) is Pair:
        fields |= {"actual": quote(safe_repr(pair.actual)), "expected": quote(safe_repr(pair.expected))}
    return fields


class Told:
    """Values reported by the current test, encoded immediately because they may change later."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.encoder = Encoder(exact=True)
        self.parts: list[str] = []
        self.length = 0

    def tell(self, number: int, value: Any) -> None:
        if StandIn.is_touched:
            return
        part = f"[{number},{self.encoder.write(value)}]"
        self.length += len(part)
        if self.length > MOST_TOLD:
            raise TooLarge
        self.parts.append(part)

    def read(self) -> str:
        return f"[{','.join(self.parts)}]"


def call_test(path: tuple[str, ...], space: dict[str, Any]) -> None:
    """Call a test function, or a method of a new test class instance between set-up and tear-down."""
    if len(path) == 1:
        for before in ("setup_module", "setUpModule", "setup_function"):
            if type(before_all := space.get(before)) is FunctionType:
                before_all(*[None] * before_all.__code__.co_argcount)
        wait_for(space[path[0]]())
        return
    owner, name = path
    kind = space[owner]
    unit = any(base.__name__ == "TestCase" for base in kind.__mro__)
    if unit and type(before_all := space.get("setUpModule")) is FunctionType:
        before_all()
    method = "run" if unit else name
    instance = kind(method) if unit else kind()
    getattr(kind, "setUpClass" if unit else "setup_class", lambda: None)()
    befores = ("setUp", "asyncSetUp") if unit else ("setup_method",)
    afters = ("asyncTearDown", "tearDown", "doCleanups") if unit else ("teardown_method",)
    for before in befores:
        call_method(instance, before)
    try:
        wait_for(getattr(instance, name)())
    finally:
        for after in afters:
            call_method(instance, after)


def call_method(instance: Any, name: str) -> None:
    """Call the method if it exists; as in pytest, a method with a parameter for the test gets one (None)."""
    function = getattr(instance, name, None)
    if function is None:
        return
    code = getattr(function, "__code__", None)
    wait_for(function(None) if name.endswith("_method") and code is not None and code.co_argcount > 1 else function())


def wait_for(result: Any) -> None:
    """Run the coroutine of an async test to its end."""
    if type(result) is CoroutineType:
        import asyncio

        asyncio.run(result)
