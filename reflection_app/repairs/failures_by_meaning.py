"""What a failed call's error means is to be done, by the classifier and the model that ships with the desk."""

import numpy as np

from judgement.tool_errors import Failure, exact_rules, judge
from reflection_app.adapters.llm.question_vectors import judging_vector
from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailedCall, JudgedRemedy, Remedy
from reflection_app.loops.diagnosis.error_texts import plain_text

WITHIN_S = 2.0
# A shorter value of a parameter stands in an error by chance.
SHORTEST_NAMED = 4
MOST_VALUES = 50


def judged_remedy(failed: FailedCall) -> JudgedRemedy | None:
    """What is to be done, and how surely; None of a blank error, where no model gives vectors, or not in time."""
    if not failed.error.strip():
        return None
    failure = as_failure(failed)
    vector = judging_vector(failure.text, timeout_s=WITHIN_S)
    if vector is None:
        return None
    found = judge(failure, np.array(vector))
    return JudgedRemedy(
        sureness={Remedy(name): sure for name, sure in found.sureness.items()},
        error_type=ErrorType(found.error_type),
        is_sure=found.is_sure,
        is_exact=failure.rule in exact_rules(),
    )


def as_failure(failed: FailedCall) -> Failure:
    """The facts of the call that the classifier looks at."""
    ruled = diagnose_by_rules(failed)
    values = [str(value) for value in failed.params.values() if isinstance(value, str | int | float)][:MOST_VALUES]
    return Failure(
        error=plain_text(failed.error) or failed.error,
        status=failed.status,
        others=sum(1 for tool in failed.tools if tool.name != failed.tool),
        names_a_value=any(value in failed.error for value in values if len(value) >= SHORTEST_NAMED),
        rule=ruled.rule if ruled else "",
        ruled=ruled.action.remedy.value if ruled else "",
    )
