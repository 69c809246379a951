"""What holds for every route of REST, whichever it is: made from the routes and their description."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import jsonschema_rs
import pytest
import yaml
from django.urls import URLPattern
from django.urls.resolvers import RoutePattern

from reflection_app.adapters.tools import mcp
from reflection_app.api import waiting
from reflection_app.api.permissions import permission_for
from reflection_app.api.urls import urlpatterns
from reflection_app.api.view import DeskView
from reflection_app.core.models import Scope
from reflection_app.core.permissions import GRANTS, Grant, Permission
from tests import given, then
from tests.api.caller import Caller
from tests.api.scene import EXAMPLES, Things, ask, brought_there, things_of

pytestmark = pytest.mark.django_db
WRITTEN = Path(__file__).parents[2] / "docs" / "openapi.yaml"


def view_of(pattern: URLPattern) -> type[DeskView] | None:
    view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
    return view if isinstance(view, type) and issubclass(view, DeskView) else None


ROUTES = [
    (method, str(pattern.pattern), view)
    for pattern in urlpatterns
    if isinstance(pattern.pattern, RoutePattern) and (view := view_of(pattern))
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    if hasattr(view, method.lower())
]


def grant_of(view: type[DeskView], method: str) -> Grant:
    return GRANTS[permission_for(view, method) or Permission.DELETE_DATA]


NEEDED = {
    f"{method} {re.sub(r'<[a-z]+:([a-z_]+)>', r'{\1}', route)}": [
        grant_of(view, method),
    ]
    for method, route, view in ROUTES
}
OPERATIONS = pytest.mark.parametrize("operation", NEEDED)
WITH_IDS = pytest.mark.parametrize("operation", [one for one in NEEDED if "{" in one and "{kind}" not in one])
WITH_BODIES = pytest.mark.parametrize(
    "operation", [one for one in NEEDED if one.startswith(("POST", "PUT", "PATCH")) and one != "POST attachments"]
)
LISTS = pytest.mark.parametrize("operation", [one for one in NEEDED if one.startswith("GET") and "{" not in one])
# No field of a body takes it.
WRONG: Any = [[[]]]


@pytest.fixture(scope="module")
def owner(module_transaction: None) -> Caller:
    return given.caller(scopes=[Scope.ADMIN])


@pytest.fixture(scope="module")
def stranger(module_transaction: None) -> Caller:
    return given.caller(scopes=[Scope.ADMIN])


@pytest.fixture(scope="module")
def things(owner: Caller) -> Things:
    return things_of(owner)


@pytest.fixture(autouse=True)
def _nobody_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LONGEST_WAIT_S", 0.01)
    monkeypatch.setattr(mcp, "list_tools", lambda *_, **__: [])


@cache
def described() -> tuple[dict[str, Any], jsonschema_rs.Registry]:
    """The description, and what finds its parts."""
    written = yaml.load(WRITTEN.read_text(), Loader=yaml.CSafeLoader)
    return written, jsonschema_rs.Registry([("urn:desk", written)])


def operation_of(operation: str) -> tuple[dict[str, Any], str]:
    """What the description tells of a call, and the pointer to it."""
    method, path = operation.split(" ")
    path, method = f"/api/v1/{path}", method.lower()
    return described()[0]["paths"][path][method], f"urn:desk#/paths/{quote(path.replace('/', '~1'))}/{method}"


def validator_of(pointer: str) -> Any:
    return jsonschema_rs.validator_for({"$ref": pointer}, registry=described()[1])


def body_of(operation: str) -> str:
    """The name of the schema of the call's body."""
    told, _ = operation_of(operation)
    name = told["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
    assert isinstance(name, str)
    return name


def test_every_example_is_of_a_call() -> None:
    assert EXAMPLES.keys() - NEEDED.keys() == set()


@OPERATIONS
def test_a_valid_call_is_answered_as_described(operation: str, owner: Caller, things: Things) -> None:
    answer = ask(owner, operation, brought_there(owner, operation, things))
    told, pointer = operation_of(operation)
    assert answer.status < 300, answer.body
    content = told["responses"][str(answer.status)].get("content", {})
    kind = answer.headers.get("content-type", "").partition(";")[0]
    assert kind in content or (not content and answer.body is None)
    if kind == "application/json":
        validator_of(f"{pointer}/responses/{answer.status}/content/application~1json/schema").validate(answer.body)


@WITH_IDS
def test_what_another_project_has_is_not_found(operation: str, stranger: Caller, things: Things) -> None:
    then.refused(ask(stranger, operation, things | {"lease_token": str(uuid4())}), 404)


@LISTS
def test_what_another_project_has_is_not_listed(operation: str, stranger: Caller, things: Things) -> None:
    answer = ask(stranger, operation, things)
    # About a thing of another project nothing can be asked either.
    if answer.status != 404 or not EXAMPLES[operation].query:
        assert answer.status == 200, answer.body
        assert [name for name, one in things.items() if len(str(one)) > 30 and str(one) in str(answer.body)] == []


@OPERATIONS
def test_a_key_without_the_scope_is_refused(operation: str, owner: Caller, things: Things) -> None:
    needed = {scope for grant in NEEDED[operation] for scope in grant.scopes}
    others = given.caller(owner.project, [scope for scope in Scope if scope not in {*needed, Scope.ADMIN}])
    then.refused(ask(others, operation, things | {"lease_token": str(uuid4())}), 403)


@WITH_BODIES
def test_a_bad_body_is_refused_with_its_fields(operation: str, owner: Caller, things: Things) -> None:
    name = body_of(operation)
    told, pointer = described()[0]["components"]["schemas"][name], f"urn:desk#/components/schemas/{name}"
    wrong = [name for name in told["properties"] if not validator_of(f"{pointer}/properties/{name}").is_valid(WRONG)]
    answer = ask(owner, operation, things, body=dict.fromkeys([*wrong, "no_such_field"], WRONG))
    then.refused(answer, 400)
    named = {field.partition(".")[0] for field in then.named_fields(answer)}
    # A batch names the places of its bad tasks.
    named |= {"no_such_field"} if operation == "POST tasks/batch" else set()
    assert named == {*wrong, "no_such_field", *told.get("required", [])}
    then.refused(ask(owner, operation, things, body=["x"]), 400)


def test_every_route_declares_what_it_needs() -> None:
    for method, route, view in ROUTES:
        permission = permission_for(view, method)
        assert permission is not None, f"{method} {route} declares nothing"
        assert GRANTS[permission].scopes, f"{method} {route} is for no key"


def test_an_id_that_is_none_is_not_found(owner: Caller) -> None:
    for method, route, _ in ROUTES:
        if "<uuid:" in route:
            then.refused(owner.call(method, re.sub("<.*?>", "not-an-id", route)), 404)


@pytest.mark.exhaustive("every call with every scope")
@pytest.mark.parametrize("scope", Scope)
def test_a_key_gets_as_far_as_the_matrix_says(scope: Scope) -> None:
    caller, wrong = given.caller(scopes=[scope]), dict[str, int]()
    for operation, grants in NEEDED.items():
        is_enough = scope is Scope.ADMIN or all(
            scope in grant.scopes and (len(grant.scopes) == 1 or not grant.together) for grant in grants
        )
        status = ask(caller, operation, nothing_there()).status
        if (status != 403) is not is_enough or status in {401, 405}:
            wrong[operation] = status
    assert wrong == {}


def test_two_scopes_that_are_needed_together_are_enough_together() -> None:
    for operation, (grant, *_) in NEEDED.items():
        if grant.together:
            caller = given.caller(scopes=grant.scopes)
            assert ask(caller, operation, nothing_there()).status != 403, operation


def test_a_key_that_there_is_not_opens_no_route(owner: Caller) -> None:
    nobody = Caller(owner.project, owner.key, "rd_wrong")
    for operation in NEEDED:
        then.refused(ask(nobody, operation, nothing_there()), 401)


def nothing_there() -> Things:
    """An id of nothing for each thing."""
    things: Things = defaultdict(uuid4)
    things["data_set"] = "runs"
    return things


@OPERATIONS
def test_an_unknown_query_parameter_is_refused(operation: str, owner: Caller, things: Things) -> None:
    name = "project__memberships__user__password__startswith"
    answer = ask(owner, operation, things | {"lease_token": str(uuid4())}, query={name: "pbkdf2"})
    then.refused(answer, 400)
    assert then.named_fields(answer)[0] == name


def test_a_method_that_a_path_does_not_know_is_refused_and_an_unknown_path_too(caller: Caller) -> None:
    for method in ("PUT", "OPTIONS", "TRACE", "POST"):
        answer = caller.call(method, "runs")
        then.refused(answer, 405)
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    for path in ("", "nothing", "tasks/", "tasks/1/2/3", "../v1/none", "runs/%00", "tasks%0A", "a%0Ab"):
        then.refused(caller.call("POST", path), 404)


def test_no_answer_is_kept_by_caches(caller: Caller) -> None:
    assert caller.get("tasks").headers["cache-control"] == "no-store"
