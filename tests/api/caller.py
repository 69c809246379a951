"""A pipeline that calls the REST interface with its key."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from reflection_app.core.models import ApiKey, OwnWork, Project
from tests.factories import BOTH, make_api_key, make_project

BASE = "/api/v1"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass(frozen=True)
class Caller:
    project: Project
    key: ApiKey
    secret: str

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        """Posts `body` as JSON. `headers` are given with underscores: idempotency_key="…"."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = "" if body is None else json.dumps(body)
        return self.call("POST", path, data=data, headers=named)

    def call(
        self,
        method: str,
        path: str,
        *,
        data: str | bytes = "",
        content_type: str = "application/json",
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        response = Client(raise_request_exception=False).generic(
            method,
            path if path.startswith(("/", "http")) else f"{BASE}/{path}",
            data,
            content_type,
            query_params=query or None,
            headers={"Authorization": f"Bearer {self.secret}", **(headers or {})},
        )
        kind = response.get("Content-Type", "").partition(";")[0]
        content = response.getvalue()
        return Answer(
            response.status_code,
            json.loads(content) if kind.endswith("json") else content or None,
            {name.lower(): value for name, value in response.items()},
        )


def make_caller(
    project: Project | None = None, scopes: Sequence[str] | None = None, *, made_by: User | None = None
) -> Caller:
    """A caller that hands in and decides as well; a project made for it says that it may decide on its own work."""
    project = project or make_project(own_work=OwnWork.EVERYBODY)
    key, secret = make_api_key(project, scopes or BOTH, made_by=made_by)
    return Caller(project, key, secret)


def assert_problem(answer: Answer, status: int) -> None:
    """It is a problem+json of `status` with every field of the form."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.body) == {"type", "title", "status", "detail", "errors"}
    assert answer.body["status"] == status
    assert answer.body["title"]
    assert answer.body["detail"]


def fields(answer: Answer) -> list[str]:
    """The fields that a problem names."""
    return [error["field"] for error in answer.body["errors"]]
