import json
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
import yaml
from django.contrib.staticfiles import finders
from django.test import Client
from drf_spectacular.plumbing import ComponentRegistry
from pydantic import BaseModel, create_model

from reflection_app.api.schema import DeskSchema, NameTaken
from reflection_app.core.recognizing import INLINE, UNKNOWN
from reflection_app.loops.verdicts import Referee
from tests.api.test_routes import ROUTES, WRITTEN

REFRESH = "manage.py spectacular --file docs/openapi.yaml --validate --fail-on-warn"


@pytest.fixture(scope="module")
def described() -> str:
    # In a process of its own: the generator keeps what it is at on the views, which other tests' threads ask meanwhile.
    command = (sys.executable, "-W", "ignore", "manage.py", "spectacular", "--validate", "--fail-on-warn")
    done = subprocess.run(command, cwd=WRITTEN.parents[1], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def schema(described: str) -> Any:
    return yaml.load(described, Loader=yaml.CSafeLoader)


def operations(schema: Any) -> list[Any]:
    return [operation for path in schema["paths"].values() for operation in path.values()]


def test_the_written_description_is_up_to_date(described: str) -> None:
    assert WRITTEN.read_text().strip() == described.strip(), f"write it anew: {REFRESH}"


def test_every_route_is_described(schema: Any) -> None:
    described = {(method.upper(), path) for path, methods in schema["paths"].items() for method in methods}
    routed = {
        (method, f"/api/v1/{re.sub(r'<(?:uuid|slug):([a-z_]+)>', r'{\1}', route)}") for method, route, _ in ROUTES
    }
    assert described == routed


def test_every_call_needs_a_key_and_tells_its_problems(schema: Any) -> None:
    assert schema["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    for operation in operations(schema):
        assert operation["security"] == [{"apiKey": []}]
        assert "Needs the scope" in operation["description"]
        assert {"400", "401", "403", "429"} <= set(operation["responses"])
        for status, response in operation["responses"].items():
            kinds = set(response.get("content", {}))
            files = {"application/jsonl", "application/zip", "text/csv", "application/vnd.apache.parquet"}
            readable = {"application/json", "text/markdown", UNKNOWN} | files | INLINE.keys()
            assert kinds <= ({"application/problem+json"} if status >= "400" else readable)


def test_every_post_takes_an_idempotency_key(schema: Any) -> None:
    posts = [methods["post"] for methods in schema["paths"].values() if "post" in methods]
    assert len(posts) >= 7
    for operation in posts:
        assert "Idempotency-Key" in [parameter["name"] for parameter in operation["parameters"]]


def test_a_body_is_required_only_where_something_in_it_is(schema: Any) -> None:
    paths = schema["paths"]
    assert paths["/api/v1/tasks"]["post"]["requestBody"]["required"] is True
    assert "required" not in paths["/api/v1/reviews/claim"]["post"]["requestBody"]


def test_every_referee_is_described(schema: Any) -> None:
    described = schema["components"]["schemas"]["RefereeEnum"]
    assert set(described["enum"]) == {referee.label for referee in Referee}


@pytest.mark.parametrize(
    ("accept", "read"),
    [
        ("*/*", lambda content: yaml.load(content, Loader=yaml.CSafeLoader)),
        ("application/json", json.loads),
    ],
)
def test_the_description_is_served_without_a_key(accept: str, read: Callable[[bytes], Any], schema: Any) -> None:
    response = Client().get("/api/v1/schema", headers={"Accept": accept})
    assert response.status_code == 200
    assert read(response.content) == json.loads(json.dumps(schema))


def test_the_docs_page_loads_everything_from_here_and_relaxes_styles_alone() -> None:
    response = Client().get("/api/v1/docs")
    assert response.status_code == 200
    page = response.content.decode()
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    assert "<script>" not in page
    for name in re.findall(r'(?:src|href)="/static/([^"]+)"', page):
        assert finders.find(name), name
    policy = response["Content-Security-Policy"]
    assert "style-src 'self' 'unsafe-inline'" in policy
    assert "script-src 'self';" in f"{policy};"


class Colour(StrEnum):
    RED = "red"


class Painted(BaseModel):
    colour: Colour
    price: Decimal


# Another of the same name.
other_colour: Any = StrEnum("Colour", {"BLUE": "blue"})  # type: ignore[misc]


def made_elsewhere(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __module__="somewhere.else", **fields)


OTHERS = {
    "two values": (made_elsewhere("Painted", colour=(str, ...)), "response"),
    "parts of two values": (made_elsewhere("House", colour=(other_colour, ...)), "response"),
    "parts of one value": (made_elsewhere("House", wall=(Colour, ...), door=(other_colour, ...)), "response"),
    "one value, sent and answered": (made_elsewhere("House", wall=(Painted, ...)), "request"),
}


@pytest.mark.parametrize(("other", "mode"), OTHERS.values(), ids=OTHERS)
def test_a_name_for_two_shapes_is_refused(other: type[BaseModel], mode: Any) -> None:
    schema: Any = DeskSchema()
    schema.registry = ComponentRegistry()
    schema.resolve_serializer(Painted, "response")
    schema.resolve_serializer(Painted, "response")
    with pytest.raises(NameTaken, match=r"somewhere\.else"):
        schema.resolve_serializer(other, mode)
