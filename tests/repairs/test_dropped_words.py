"""Why something was left out, in the reader's words."""

import pytest
from django.utils import translation

from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.repairs.dropped_words import why_dropped, why_dropped_in_english

PARAMETERS: dict[DropCode, dict[str, str | int | float]] = {
    DropCode.TOO_MANY: {"most": 3},
    DropCode.UNKNOWN_TOOL: {"name": "100 % fax"},
    DropCode.UNFIT_TOOL: {"name": "<b>fax</b>"},
}


@pytest.mark.parametrize("code", DropCode)
def test_every_code_is_a_whole_sentence_with_its_parameters(code: DropCode) -> None:
    why = why_dropped(Dropped(operation="x", code=code, parameters=dict(PARAMETERS.get(code, {}))))
    assert "%(" not in why
    assert why[0].isupper()
    assert why.endswith(".")


def test_programs_are_told_in_english_whatever_the_readers_language() -> None:
    one = Dropped(operation="x", code=DropCode.TWICE)
    with translation.override("zh-hans"):
        assert why_dropped_in_english(one) == "Duplicate suggestion."


def test_a_reason_without_a_code_or_its_parameters_stays_readable() -> None:
    assert why_dropped(Dropped.model_validate({"operation": "x", "why": "So it was."})) == "So it was."
    assert why_dropped(Dropped(operation="x", code=DropCode.TOO_MANY))
