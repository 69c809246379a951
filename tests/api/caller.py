"""A pipeline that calls the REST interface with its key."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from reflection_app.core.models import ApiKey, Project

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
