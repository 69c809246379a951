"""Why something was left out, in the reader's words."""

import pytest
from django.utils import translation

from reflection_app.core.registry import REGISTRY
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.repairs.dropped_words import why_dropped, why_dropped_in_english

PARAMETERS: dict[DropCode, dict[str, str | int | float]] = {
    DropCode.TOO_MANY: {"most": 3},
    DropCode.UNKNOWN_TOOL: {"name": "100 % fax"},
    DropCode.UNFIT_TOOL: {"name": "<b>fax</b>"},
    DropCode.BELOW_WORTH: {"worth": 0.0712, "least": 0.2, "runs": 1_240},
    DropCode.TOO_DEAR: {"cost_usd": "0.50000000", "most_usd": "0.25", "runs": 12},
    DropCode.OVER_CHECK_MONEY: {"cost_usd": "0.002", "left_usd": "0"},
    DropCode.OVER_RUN_MONEY: {"cost_usd": "1.5", "left_usd": "1.25"},
    DropCode.OVER_RUN_TOKENS: {"tokens": 12_000, "left_tokens": 900},
    DropCode.OVER_RUN_TIME: {"seconds": 90.0, "left_seconds": 4.2},
}


@pytest.mark.parametrize("code", DropCode)
def test_every_code_is_a_whole_sentence_with_its_parameters(code: DropCode) -> None:
    why = why_dropped(Dropped(operation="x", code=code, parameters=dict(PARAMETERS.get(code, {}))))
    assert "%(" not in why
    assert why[0].isupper()
    assert why.endswith(".")


def test_numbers_are_written_as_people_read_them() -> None:
    below = Dropped(operation="x", code=DropCode.BELOW_WORTH, parameters=dict(PARAMETERS[DropCode.BELOW_WORTH]))
    assert why_dropped(below) == "It turns at most 7 % of such runs complete, by 1,240 runs; the line is 20 %."
    late = Dropped(operation="x", code=DropCode.OVER_RUN_TIME, parameters=dict(PARAMETERS[DropCode.OVER_RUN_TIME]))
    assert why_dropped(late) == "It usually takes 1 min 30 s, and the run has 4.2 s left."


def test_programs_are_told_in_english_whatever_the_readers_language() -> None:
    one = Dropped(operation="x", code=DropCode.TWICE)
    with translation.override("zh-hans"):
        assert why_dropped_in_english(one) == "It was suggested twice."


def test_a_sentence_of_old_is_told_as_its_code_and_an_unknown_one_as_it_was_kept() -> None:
    old = Dropped.model_validate({"operation": "x", "why": "Only the first 3 are carried out."})
    assert why_dropped(old) == "Only the best 3 are carried out."
    assert why_dropped(Dropped.model_validate({"operation": "x", "why": "So it was."})) == "So it was."


def test_parameters_that_are_gone_leave_the_sentence_readable_and_raise_nothing() -> None:
    assert why_dropped(Dropped(operation="x", code=DropCode.TOO_MANY))
    odd = Dropped(operation="x", code=DropCode.TOO_DEAR, parameters={"cost_usd": "much", "most_usd": "?"})
    assert "much" in why_dropped(odd)


def test_every_code_has_a_sentence() -> None:
    assert REGISTRY["dropped"].keys() == set(DropCode)
