"""Recorded runs go through the real loop, referee and sandbox; nothing hidden decides what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from reflection_app.metrics.statistics import wilson
from tests.load.replay_traces import replay_file

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "reflexion_mbpp_traces" / "traces.jsonl"

PROMPT = 'def double(n: int) -> int:\n    """\n    Write a function to double a number.\n    """\n'
RIGHT = "def double(n: int) -> int:\n    return 2 * n"
WRONG = "def double(n: int) -> int:\n    return n * n * n + 7"
GOOD_TESTS = [f"assert double({n}) == {2 * n}" for n in (1, 2, 3, 4, 5)]
ONE_BAD_TEST = [*GOOD_TESTS[:4], "assert double(5) == 11"]


def trace(tests: list[str], *implementations: str, **more: Any) -> dict[str, Any]:
    hidden = "def check(candidate):\n    assert candidate(11) == 22\n\ncheck(double)\n"
    return {
        "prompt": PROMPT,
        "entry_point": "double",
        "tests": tests,
        "implementations": list(implementations),
        "hidden_test": hidden,
        **more,
    }


def written(folder: Path, *traces: dict[str, Any]) -> Path:
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in traces))
    return path


def test_the_first_answer_outlives_tests_and_only_what_passes_them_all_succeeds(tmp_path: Path) -> None:
    runs = (trace(ONE_BAD_TEST, RIGHT, WRONG), trace(GOOD_TESTS, WRONG, RIGHT), trace(GOOD_TESTS, RIGHT))
    figures = replay_file(written(tmp_path, *runs))
    assert (figures["runs"], figures["first"], figures["last"], figures["any"]) == (3, 2, 2, 3)
    assert (figures["kept"], figures["gained"], figures["lost"]) == (2, 0, 0)
    assert (figures["succeeded"], figures["succeeded_right"]) == (1, 1)
    assert (figures["attempts_used"], figures["attempts_recorded"]) == (4, 5)
    most, contested = figures["kinds"]
    assert (most["stated"], most["runs"], most["problems"], most["right"]) == (0.85, 2, 1, 2)
    assert (contested["runs"], contested["right"], contested["gained"]) == (1, 0, 1)


def test_the_tasks_own_example_replaces_an_answer_that_fails_it(tmp_path: Path) -> None:
    prompt = PROMPT.replace("a number.", "a number.\n    >>> double(4)\n    8")
    figures = replay_file(written(tmp_path, trace(GOOD_TESTS, WRONG, RIGHT) | {"prompt": prompt}))
    assert (figures["first"], figures["kept"], figures["gained"], figures["succeeded"]) == (0, 1, 1, 1)


def test_what_is_recorded_of_the_hidden_test_is_believed(tmp_path: Path) -> None:
    failed = {"hidden": "fail", "internal": [True] * 5}
    figures = replay_file(written(tmp_path, trace(GOOD_TESTS, RIGHT, attempts=[failed])))
    assert (figures["first"], figures["kept"]) == (0, 0)


def test_people_look_at_the_least_settled_runs_first(tmp_path: Path) -> None:
    unsettled = trace(GOOD_TESTS, "def double(n: int) -> int:\n    return 7", RIGHT.replace("2 * n", "9"))
    settled = [trace(GOOD_TESTS, RIGHT) for _ in range(9)]
    curve = replay_file(written(tmp_path, *settled, unsettled))["review_curve"]
    assert list(curve) == ["0", "5", "10", "20", "30", "100"]
    assert curve["0"] == curve["100"] == 0.9


@pytest.mark.exhaustive("over all recorded runs")
@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded traces are not here")
def test_on_recorded_runs_nothing_is_lost_and_the_confidences_are_what_other_problems_say() -> None:
    figures = replay_file(RECORDED)
    assert figures["kept"] >= figures["first"] > figures["last"]
    assert figures["attempts_used"] <= 0.55 * figures["attempts_recorded"]
    assert figures["review_curve"]["10"] - figures["review_curve"]["0"] >= 0.03
    for kind in figures["kinds"]:
        # Keeping what passes most tests is nowhere better beyond chance.
        better = wilson(kind["gained"], kind["gained"] + kind["lost"])
        assert better is None or better.low <= 0.5, kind
    measured = [kind for kind in figures["kinds"] if kind["problems"] > 1]
    assert len(measured) == 3
    for kind in measured:
        assert kind["held_out"] == pytest.approx(kind["stated"], abs=0.025), kind
