"""Evaluation by model-written tests only: which tests to run, and which attempt to pick.

Tests that contradict an example of the task, or each other, are removed before the run. The first attempt is picked
unless it fails the task's own examples, or returns no value at all. The confidence orders the review queue. The figures
come from recorded runs: docs/design/generated-tests.md.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from desk_sandbox.code_tests import MAX_CASES, FailureReason, TestReport, TestResult, Unreadable, read_value
from reflection_app.loops.attempt_effects import Pick

# Examples in the task's own text: `>>> f(2)` with `4` below it, `f(2) == 4`, `f(2) ➞ 4`, `f(2) returns 4`.
#
# They came with the task, so they carry more weight than a model-written test.

MOST_EXAMPLES = 20
LONGEST_CALL = 2_000
# Bounds for texts with endless calls or brackets.
MOST_CALLS_READ = 200
MOST_ENDS_TRIED = 50
ARROW = re.compile(
    r"\s*(?:#\s*)?(?:==>|=>|==|->|=|→|➞|⇒|(?:should\s+)?(?:returns?|gives?|outputs?|evaluates\s+to|be)\b:?)\s*"
)


def examples_in(task: str, *, entry_point: str) -> dict[str, str]:
    """Return a mapping from example call to value, both as source. Contradicting examples are left out."""
    if not entry_point:
        return {}
    found: dict[str, set[str]] = {}
    lines = task.replace("\r\n", "\n").split("\n")
    begins = re.compile(rf"(?<![\w.]){re.escape(entry_point)}\(")
    places = ((number, match.start()) for number, line in enumerate(lines) for match in begins.finditer(line))
    for number, start in islice(places, MOST_CALLS_READ):
        call, rest = _call_in(lines[number][start:])
        arrow = ARROW.match(rest)
        value = _value_in(rest[arrow.end() :]) if arrow else ""
        if lines[number].lstrip().startswith(">>>") and not rest.strip():
            value = _whole_value("".join(lines[number + 1 : number + 2]))
        if call and value:
            found.setdefault(call, set()).add(value)
    certain = ((call, values.pop()) for call, values in found.items() if len(values) == 1)
    return dict(islice(certain, MOST_EXAMPLES))


def _call_in(text: str) -> tuple[str, str]:
    """Return the call at the start of `text` and the rest; ("", "") unless all arguments are plain values."""
    for match in islice(re.finditer(r"\)", text[:LONGEST_CALL]), MOST_ENDS_TRIED):
        try:
            node = ast.parse(text[: match.end()], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if all(_plain_value(argument) for argument in arguments):
                return ast.unparse(node), text[match.end() :]
        break
    return "", ""


def _value_in(text: str) -> str:
    """Return the longest plain value at the start of `text`, as source, or ""."""
    text = text.strip()[:LONGEST_CALL]
    ends = [len(text), *(match.start() for match in islice(re.finditer(r"[\s.,;#)]", text), MOST_ENDS_TRIED))]
    for end in sorted(set(ends), reverse=True):
        written = text[:end].rstrip(" \t.,;#")
        if value := _whole_value(written):
            return "" if value.startswith("(") and not written.startswith("(") else value
    return ""


def _whole_value(text: str) -> str:
    try:
        return repr(read_value(text.strip()))
    except (Unreadable, RecursionError):
        return ""


def _plain_value(node: ast.expr) -> str:
    try:
        return _whole_value(ast.unparse(node))
    except RecursionError:
        return ""


LONGEST_SCRIPT = 200_000
# Leaves room for the task's own examples within the size limit of a task's tests.
LONGEST_PART_OF_MODEL = 100_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,199}")


@dataclass(frozen=True)
class SuspectTests:
    """Tests of unknown quality. `script` is for the sandbox, "" if there is no test.

    The first `examples` tests are the task's own examples. `left_out` names each removed test with its reason, for the
    page.
    """

    script: str
    examples: int
    entry_point: str
    left_out: tuple[str, ...] = ()


def suspect_tests(generated: str, *, task: str) -> SuspectTests:
    """Return the tests to run for a task, from the script that a model wrote.

    The entry point is the function that most of the tests call.
    """
    generated = generated.replace("\r\n", "\n").replace("\r", "\n")
    statements = _parsed(generated)
    if statements is None:
        # Parse line by line instead: one invalid test must not cost all.
        statements = [node for line in generated.split("\n")[: 4 * MAX_CASES] for node in _parsed(line) or []]
    called = (read_equality(node)[0].partition("(")[0] for node in statements)
    names = Counter(name for name in called if NAME.fullmatch(name))
    entry_point = names.most_common(1)[0][0] if names else ""
    examples = examples_in(task, entry_point=entry_point)
    kept, left_out = sort_out(statements, examples)
    has_tests = bool(examples) or any(isinstance(inner, ast.Assert) for node in kept for inner in ast.walk(node))
    lines, room = [f"assert {call} == {value}" for call, value in examples.items()], LONGEST_PART_OF_MODEL
    for source in map(ast.unparse, kept):
        room -= len(source) + 1
        if room < 0:
            break
        lines.append(source)
    return SuspectTests("\n".join(lines) if has_tests else "", len(examples), entry_point, left_out)


def _parsed(source: str) -> list[ast.stmt] | None:
    """Return the statements, or None if they cannot be parsed and unparsed."""
    if len(source) > LONGEST_SCRIPT:
        return None
    try:
        tree = ast.parse(source)
        ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree.body


def sort_out(statements: list[ast.stmt], examples: Mapping[str, str]) -> tuple[list[ast.stmt], tuple[str, ...]]:
    """Return the statements to run, at most MAX_CASES, and a reason for each contradicting test.

    A test that repeats an example or an earlier test is dropped without a reason.
    """
    equalities = [(node, *read_equality(node)) for node in statements]
    first: dict[str, str] = {}
    disputed = {call for _, call, value in equalities if first.setdefault(call, value) != value}
    kept: dict[object, ast.stmt] = {}
    left_out = []
    for node, call, value in equalities:
        why = ""
        if call not in examples and call not in disputed:
            kept.setdefault(call or node, node)
        elif call not in examples:
            why = "contradicts another test"
        elif examples[call] != value:
            why = f"contradicts the task's own example, which has {examples[call]}"
        if why:
            left_out.append(f"{ast.unparse(node)[:300]}: {why}")
    return list(kept.values())[:MAX_CASES], tuple(left_out)


def read_equality(node: ast.stmt) -> tuple[str, str]:
    """Return the call and value of `assert call == value` as normalized source; ("", "") for other statements."""
    condition = node.test if isinstance(node, ast.Assert) else None
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Eq | ast.Is):
        sides = condition.left, condition.comparators[0]
        for call, value in (sides, sides[::-1]):
            if isinstance(call, ast.Call) and (written := _plain_value(value)):
                return ast.unparse(call), written
    return "", ""


SETTLED_FROM = 0.8
MOST_NAMED = 5


@dataclass(frozen=True)
class Shown:
    """Results of attempt `number` that count, on the task's examples and on the model's tests."""

    number: int
    examples: Sequence[TestResult]
    tests: Sequence[TestResult]

    @property
    def progress(self) -> tuple[int, int, int]:
        """Number of examples met, of tests passed, and of both with any returned value, right or wrong."""
        both = (*self.examples, *self.tests)
        answered = sum(one.passed or one.reason is FailureReason.WRONG_ANSWER for one in both)
        return sum(one.passed for one in self.examples), sum(one.passed for one in self.tests), answered

    @property
    def fails_example(self) -> bool:
        return not all(one.passed for one in self.examples)

    @property
    def fails_most(self) -> bool:
        return 2 * self.progress[1] < len(self.tests)


def weigh(reports: Mapping[int, TestReport], *, suspects: SuspectTests) -> tuple[Pick, dict[int, float]]:
    """Return the pick, and the scores (0–100) by attempt, from the reports of the attempts in order."""
    attempts = shown_by(reports, examples=suspects.examples)
    picked = attempts[0]
    for attempt in attempts:
        # The model's tests do not count here. On recorded runs, a rewrite that passes most of them was right no more
        # often than a first attempt that fails most of them.
        (held, _, answered), (held_before, _, answered_before) = attempt.progress, picked.progress
        if held > held_before or (held == held_before and answered and not answered_before):
            picked = attempt
    confidence, why = confidence_in(picked, attempts)
    against = tuple(
        result.name
        for place, result in enumerate(reports[picked.number].results)
        # A failed example already makes the pick unsettled, but an example that did not run does not.
        if not (result.passed or result.is_broken)
        and (place >= suspects.examples or result.reason is FailureReason.NOT_RUN)
    )
    held, passed, _ = picked.progress
    words = [f"{held} of {len(picked.examples)} examples of the task hold."] if picked.examples else []
    words += [f"{passed} of {len(picked.tests)} tests that the model wrote pass."] if picked.tests else []
    if against:
        more = f"; and {len(against) - MOST_NAMED} more" if len(against) > MOST_NAMED else ""
        named = "; ".join(against[:MOST_NAMED]) + more
        words.append(f"It does not pass these tests, and nothing shows that they are wrong: {named}.")
    left_out = (f"Left out: {test}" for test in suspects.left_out)
    # Another attempt may change the pick while rewrites still make progress, that is, do not repeat results.
    *earlier, last = attempts
    is_doubtful = picked.fails_example or all(each.fails_most for each in attempts)
    pick = Pick(
        attempt=picked.number,
        settled=confidence >= SETTLED_FROM,
        try_again=is_doubtful and all(last.progress > other.progress for other in earlier),
        confidence=confidence,
        reasons=(why, *words, *left_out),
        against=against,
    )
    total = len(picked.examples) + len(picked.tests) or 1
    return pick, {one.number: round(100 * sum(one.progress[:2]) / total, 2) for one in attempts}


def shown_by(reports: Mapping[int, TestReport], *, examples: int) -> list[Shown]:
    """Return each attempt's results that count. The first `examples` results of a report are the task's examples.

    A test counts for all attempts or for none: one that is broken or did not run in some report is left out.
    """
    by_test = enumerate(zip(*(report.results for report in reports.values()), strict=False))
    no_evidence = {FailureReason.NOT_RUN, FailureReason.BROKEN_TEST}
    places = [place for place, results in by_test if no_evidence.isdisjoint(result.reason for result in results)]
    return [
        Shown(
            number,
            examples=[report.results[place] for place in places if place < examples],
            tests=[report.results[place] for place in places if place >= examples],
        )
        for number, report in reports.items()
    ]


def confidence_in(picked: Shown, attempts: Sequence[Shown]) -> tuple[float, str]:
    """Return the confidence that the picked attempt is right, and the reason shown to reviewers.

    0.85, 0.6 and 0.4 are measured: the share of right first attempts by problem. They are smoothed with 30 imaginary
    problems of which half are right, in steps of 0.05. The others were recorded too rarely, or never, and are
    estimates. All 100 examples found in 35 recorded tasks hold for right answers.
    """
    if picked.fails_example:
        return 0.3, "It fails an example that the task itself gives."
    if picked.examples and not picked.fails_most:
        return 0.85, "All examples of the task hold, and the model's own tests do not speak against it."
    if not picked.tests:
        return 0.5, "No test that the model wrote can be used."
    if not picked.progress[2]:
        return 0.05, "It gives no answer on any test."
    if picked is not attempts[0] and not attempts[0].progress[2]:
        return 0.5, "No attempt before it gave any answer at all; this one does."
    if not picked.fails_most:
        return 0.85, "Most tests that the model wrote pass."
    answers = {
        one.number: [(result.passed, result.actual) for result in (*one.examples, *one.tests)] for one in attempts
    }
    others = [one for one in attempts if one.progress >= picked.progress and one is not picked]
    if len(attempts) > 1 and all(answers[one.number] == answers[picked.number] for one in others):
        return 0.6, "Most tests that the model wrote fail; every rewrite gives the same answers or does worse."
    return 0.4, "Most tests that the model wrote fail, and no other answer shows that it is right."
