"""What pydantic complains about, in the words of the pages: by field where the field says it best, else by kind."""

from collections.abc import Iterable, Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

SHARE = "A number from 0 to 1."
SCORE = "A number from 0 to 100."
SENTENCES = {
    "objective": "Write what is to be done.",
    "mode": "Choose one of the ways.",
    "external_id": "At most 200 characters.",
    "max_iterations": "A whole number from 1 to 20.",
    "token_budget": "A whole number from 1 to 100,000,000.",
    "time_budget_s": "A number above 0, at most 86,400.",
    "cost_budget_usd": "An amount above 0, with at most six decimals.",
    "confidence_below": SHARE,
    "audit_share": SHARE,
    "score_below": SCORE,
    "pass_from": SCORE,
    "revise_from": "A number from 0 to 100, not above the score that passes.",
    "max_supplements": "A whole number from 0 to 20.",
    "temperature": "A number from 0 to 2.",
    "top_p": "A number above 0, at most 1.",
    "max_retries": "A whole number from 0 to 5.",
    "decision": "Choose agree or overrule.",
    "verdict": "Choose pass, revise or reject.",
    "attempt": "Choose one of the attempts.",
    "score": "A score is a number from 0 to 100.",
    "lease_token": "Claim the review first.",
    "reason": "A reason has at most 10,000 characters.",
    "name": "Write what the key is for, in at most 120 characters.",
    "days": "A whole number from 1 to 3650, or nothing.",
    "scopes": "Choose at least one thing that the key may do.",
    "description": "Say what is wrong.",
}
KINDS = {
    "missing": "This is missing.",
    "extra_forbidden": "There is no such field.",
    "model_type": "A JSON object, as in the examples.",
    "dict_type": "A JSON object.",
    "tuple_type": "A list.",
    "list_type": "A list.",
    "string_type": "A text in quotes.",
    "string_pattern_mismatch": "The name of a function.",
}


def complaints(error: ValidationError) -> list[dict[str, str]]:
    """Each field that is wrong with a plain sentence, in the order of the form."""
    return [_complaint(problem) for problem in error.errors(include_url=False, include_input=False)]


def in_plain_words(errors: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """An action's errors, with the sentence of each field that has one."""
    return [{"field": error["field"], "message": SENTENCES.get(error["field"], error["message"])} for error in errors]


def _complaint(problem: ErrorDetails) -> dict[str, str]:
    place, said = problem["loc"], problem["msg"].removeprefix("Value error, ")
    message = _sentence(problem, said)
    if place[:1] == ("issues",) and len(place) > 1:
        message = f"Issue {int(place[1]) + 1}: {message}"
    return {"field": ".".join(str(part) for part in place), "message": message}


def _sentence(problem: ErrorDetails, said: str) -> str:
    place, kind = problem["loc"], problem["type"]
    if kind == "string_too_long":
        return f"At most {problem['ctx']['max_length']:,} characters."
    if kind == "too_long":
        return f"At most {problem['ctx']['max_length']:,} of them."
    # What is wrong inside of the tests, the kind says; of a form's own fields, what they should hold.
    own = (
        SENTENCES.get(str(place[-1])) if place and place[0] not in {"tests", "output_schema", "requirements"} else None
    )
    return own or KINDS.get(kind, said)
