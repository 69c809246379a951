import json
from decimal import Decimal
from pathlib import Path

import pytest

from reflection_app.adapters.llm import ModelTimedOut, ScriptExhausted, ScriptInvalid, complete
from reflection_app.adapters.llm.scripted import ScriptedAnswer, load_script, register_script
from tests.adapters.llm.conftest import asking


def test_it_answers_by_the_step_and_the_same_every_time() -> None:
    model = register_script("two-steps", {"attempt-1/generate": "first", "attempt-2/generate": "second"})
    second, first, again = (
        complete(asking(model, key=f"attempt-{number}/generate", temperature=1.0)) for number in (2, 1, 2)
    )
    assert (second.text, first.text) == ("second", "first")
    assert again == second


def test_tokens_are_estimated_and_cost_nothing_unless_given() -> None:
    model = register_script("estimate", {"attempt-1/generate": "12345678"})
    # 9 and 10 characters were asked.
    answer = complete(asking(model))
    assert (answer.prompt_tokens, answer.completion_tokens) == (5, 2)
    told = ScriptedAnswer(text="x", prompt_tokens=7, completion_tokens=9, cost_usd=Decimal("0.25"), delay_ms=1)
    exact = complete(asking(register_script("told", {"attempt-1/generate": told})))
    assert (exact.prompt_tokens, exact.completion_tokens, exact.cost_usd) == (7, 9, Decimal("0.25"))
    assert answer.cost_usd == 0
    assert answer.cost_known


def test_a_step_outside_the_script_is_an_error() -> None:
    with pytest.raises(ScriptExhausted, match="attempt-9/generate"):
        complete(asking(register_script("short", {}), key="attempt-9/generate"))


def test_a_delay_past_the_deadline_times_out() -> None:
    model = register_script("slow", {"attempt-1/generate": ScriptedAnswer(text="x", delay_ms=60_000)})
    with pytest.raises(ModelTimedOut):
        complete(asking(model, timeout_s=0.05))


def test_a_script_is_read_from_its_file(tmp_path: Path) -> None:
    content = {"answers": {"attempt-1/generate": {"text": "从文件", "cost_usd": "0.01"}}}
    (tmp_path / "from-file.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    answer = load_script("from-file", folder=tmp_path).answers["attempt-1/generate"]
    assert (answer.text, answer.cost_usd) == ("从文件", Decimal("0.01"))


@pytest.mark.parametrize("name", ["../secrets", "a/b", "A", "", "a.json", "a\n", "/etc/passwd"])
def test_a_name_cannot_lead_out_of_the_folder(name: str) -> None:
    with pytest.raises(ScriptInvalid):
        complete(asking(f"scripted/{name}"))


def test_a_malformed_or_missing_script_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScriptInvalid, match="no-such-script"):
        complete(asking("scripted/no-such-script"))
    (tmp_path / "broken.json").write_text('{"answers": {"a": {"txt": "x"}}}')
    with pytest.raises(ScriptInvalid, match="malformed"):
        load_script("broken", folder=tmp_path)
