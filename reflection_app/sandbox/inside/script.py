"""What a forked child does for a script: the candidate, then the script's statements and test functions in its space.

Here the candidate and its judge share a process. Assertions that a literal answers are judged outside: the script
tells the value, and the literal is not in here. Other equalities are not taken from an object's word when one side
is plain data. The nonce is handed over only after the candidate was loaded, every record must carry it, the builtins
that the script names are the true ones, and a child that leaves before its last record has failed.

What remains, for a candidate that knows this file: where a script asserts anything but an equality, compares two
objects of the candidate's own classes, or has its literals in loops, in conditions, or in functions that are no
tests, it can find pipe, nonce and literals in the frames above it, or change modules that the script uses.
"""

import builtins
import posix
from typing import Any, NoReturn

from reflection_app.sandbox.inside.child import failure, failure_fields, flush, leave, load, send_whole
from reflection_app.sandbox.inside.encode import Encoder, TooLarge, describe, quote, safe_repr, write_object
from reflection_app.sandbox.inside.equality import FORGED_TEXT, Forged, equal, proven

MOST_TOLD = 1024 * 1024
read = posix.read
TRUE_BUILTINS = dict(vars(builtins))


class Pair:
    """The two sides of a failed `assert a == b`; it is the argument of the AssertionError."""

    def __init__(self, actual: Any, expected: Any, message: Any = None) -> None:
        self.actual, self.expected, self.message = actual, expected, message

    def __repr__(self) -> str:
        return "not equal" if self.message is None else str(self.message)


def run_script(job: dict[str, Any], done: set[int], dead: set[int], report_end: int, secret: int) -> NoReturn:
    """Reports the items: `B` as a test begins, `E` its result, `P` for set-up and what is done already, `Z` at the end.

    Items in `dead` ended an earlier child and are left out.
    """
    try:
        space = load(job["code"], name="candidate")
    except BaseException as error:  # noqa: BLE001 - the child must report it
        send_whole(report_end, b"F " + failure(error, job["code"]).encode("ascii") + b"\n")
        leave(0)
    vars(builtins).clear()
    vars(builtins).update(TRUE_BUILTINS)
    space.update({f"__true_{name}__": value for name, value in TRUE_BUILTINS.items()}, __pair__=Pair)
    told = Told()
    space.update(__tell__=told.tell, __equal__=equal, __sides__=proven)
    send_whole(report_end, b"L\n")
    reporter = Reporter(report_end, read(secret, 64), told)
    for index, item in enumerate(job["items"]):
        if index in dead or item["kind"] == "skip" or (index in done and item["kind"] == "call"):
            continue
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
    """Whether the script can go on: false after a set-up statement that failed."""
    is_test = item["kind"] != "setup"
    reporter.say(b"P" if again or not is_test else b"B", index)
    reporter.told.begin()
    report: dict[str, str] = {"ok": "true"}
    try:
        if item["kind"] == "call":
            call_test(item["path"], space)
        else:
            exec(item["code"], space)  # noqa: S102 - the purpose of the place
    except BaseException as error:  # noqa: BLE001 - the child must report it
        report = broken(error, job)
        if not is_test:
            flush()
            reporter.say(b"S", index, write_object(**report))
            return False
    if is_test and not again:
        flush()
        reporter.say(b"E", index, write_object(**report, told=reporter.told.read()))
    return True


def broken(error: BaseException, job: dict[str, Any]) -> dict[str, str]:
    """The report on a test that raised; both sides where an equality was asserted."""
    if type(error) is Forged:
        return {"kind": '"forged"', "error": quote(FORGED_TEXT)}
    if not isinstance(error, AssertionError):
        return failure_fields(error, job["code"])
    pair = error.args[0] if type(error) is AssertionError and error.args else None
    fields = {"kind": '"assertion"', "error": describe(error, job["code"], job["script"])}
    if type(pair) is Pair:
        fields |= {"actual": quote(safe_repr(pair.actual)), "expected": quote(safe_repr(pair.expected))}
    return fields


class Told:
    """The values that the test which runs has told so far, written down at once: they may change later."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.encoder = Encoder(exact=True)
        self.parts: list[str] = []
        self.length = 0

    def tell(self, number: int, value: Any) -> None:
        part = f"[{number},{self.encoder.write(value)}]"
        self.length += len(part)
        if self.length > MOST_TOLD:
            raise TooLarge
        self.parts.append(part)

    def read(self) -> str:
        return f"[{','.join(self.parts)}]"


def call_test(path: str, space: dict[str, Any]) -> None:
    """Calls a test function, or a method of a fresh instance of a test class between its set-up and tear-down."""
    owner, _, name = path.rpartition(".")
    if not owner:
        space[name]()
        return
    kind = space[owner]
    unit = any(base.__name__ == "TestCase" for base in kind.__mro__)
    instance = kind(name) if unit else kind()
    getattr(kind, "setUpClass" if unit else "setup_class", lambda: None)()
    before, after = ("setUp", "tearDown") if unit else ("setup_method", "teardown_method")
    getattr(instance, before, lambda: None)()
    try:
        getattr(instance, name)()
    finally:
        getattr(instance, after, lambda: None)()
