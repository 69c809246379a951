"""How often the table is right about ordinary errors, and that it leaves alone what it cannot know."""

import pytest

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from tests.loops.diagnosis.labelled_errors import LABELLED, UNCLAIMED


def test_nine_of_ten_ordinary_errors_get_the_type_and_a_remedy_that_a_person_gave_them() -> None:
    misses = []
    for error, error_type, remedies in LABELLED:
        found = diagnose_by_rules(FailedCall(tool="call_service", error=error))
        if found is None or found.error_type is not error_type or found.action.remedy not in remedies:
            told = (found.rule, found.error_type.value, found.action.remedy.value) if found else None
            misses.append(f"{error[:90]!r}: {told} instead of {error_type.value}")
    share = 1 - len(misses) / len(LABELLED)
    print(f"{share:.1%} of {len(LABELLED)} right", *misses, sep="\n")
    assert len(LABELLED) >= 60
    assert share >= 0.9, misses


@pytest.mark.parametrize("error", UNCLAIMED)
def test_what_says_too_little_is_left_to_a_model(error: str) -> None:
    assert diagnose_by_rules(FailedCall(tool="call_service", error=error)) is None
