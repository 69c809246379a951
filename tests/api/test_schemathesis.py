"""Every call of the committed description, with what it allows and with what it does not: nothing fails on our side,
and every answer is one that the description tells of."""

from functools import cache
from typing import Any

import hypothesis
import pytest
import schemathesis
import yaml
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from reflection_app.api import waiting
from reflection_app.core.audit import Actor
from reflection_app.core.models import Scope
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review
from tests import given
from tests.api.caller import Caller
from tests.api.scene import things_of
from tests.api.test_routes import WRITTEN

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# The same ones each time: a test that fails by chance is of no use to whoever changes something else.
BOUNDED = settings(
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@cache
def described() -> Any:
    # libyaml's loader takes half a second where the other takes ten.
    schema = schemathesis.openapi.from_dict(yaml.load(WRITTEN.read_text(), Loader=yaml.CSafeLoader))
    schema.app = get_wsgi_application()
    return schema


def calls() -> list[tuple[str, str]]:
    """Method and path of every call, from lines of the description: reading all of it would slow every collection."""
    found, path = [], ""
    for line in WRITTEN.read_text().partition("\ncomponents:")[0].splitlines():
        if line.startswith("  /"):
            path = line.strip().rstrip(":")
        elif line in {f"    {method}:" for method in ("get", "post", "put", "patch", "delete")}:
            found.append((line.strip(" :").upper(), path))
    return found


# Some calls are about a thing that is at a certain point.
AT_A_POINT = {
    "/runs/{run_id}/attempts": {"run_id": "agent_run_id"},
    "/datasets/{kind}/export": {"kind": "data_set"},
    "/runs/{run_id}/redo": {"run_id": "finished_run_id"},
}


def real_things(caller: Caller, path: str) -> dict[str, Any]:
    """The ids of things that there are, by the names of parameters and of fields; of a review with its lease."""
    things: dict[str, Any] = things_of(caller)
    if "/reviews/{review_id}" in path:
        held = claim_review(Review.objects.get(pk=things["review_id"]), actor=Actor(api_key=caller.key))
        things["lease_token"] = held.lease_token
    at_a_point = AT_A_POINT.get(path.removeprefix("/api/v1"), {})
    return things | {name: things[other] for name, other in at_a_point.items()}


@pytest.mark.exhaustive("every call of the description, with generated requests")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("method", "path"), calls())
def test_every_answer_is_described(method: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LONGEST_WAIT_S", 0.01)
    operation = described()[path][method]
    caller = given.caller(scopes=[Scope.ADMIN])
    things = real_things(caller, path) if "{" in path else {}
    allowed, refused = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)
    found: set[int] = set()

    @BOUNDED
    @hypothesis.given(case=st.one_of(allowed, allowed, refused), is_real=st.sampled_from([True, True, True, False]))
    def ask(case: Any, is_real: bool) -> None:
        if is_real:
            for part in (case.path_parameters, case.query, case.body):
                if isinstance(part, dict):
                    part.update({name: str(things[name]) for name in part.keys() & things.keys()})
        answer = case.call_and_validate(headers={"Authorization": f"Bearer {caller.secret}"}, checks=CHECKS)
        if is_real and answer.status_code != 400:
            found.add(answer.status_code)

    try:
        ask()
    except Unsatisfiable:
        pytest.fail("nothing can be made from the description")
    assert "{" not in path or found != {404}, "nothing real was asked about"
