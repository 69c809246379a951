"""Tools over HTTP for the running desk: each is a path that answers as a test wants it, call by call."""

import json
import threading
from typing import Any

from tests.adapters.outgoing.server import Heard, RawServer, Reply, reply
from tests.end_to_end.desk import Desk

FREE = {"type": "object", "additionalProperties": True}


class ToolServer:
    """One server for many tools; a path's last reply is given again and again."""

    def __init__(self) -> None:
        self._replies: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        self.server = RawServer(self._answer)

    def _answer(self, heard: Heard, connection: Any) -> None:
        with self._lock:
            replies = self._replies[heard.path.partition("?")[0]]
            chosen = replies.pop(0) if len(replies) > 1 else replies[0]
        chosen(heard, connection)

    def add(self, desk: Desk, name: str, *replies: Reply | str, parameters: dict[str, Any] = FREE) -> None:
        """Register the tool, which takes its arguments as a JSON body and is allowed without asking."""
        said = [reply(one.encode()) if isinstance(one, str) else one for one in replies]
        self._replies[f"/{name}"] = said
        config = {"method": "POST", "url": f"{self.server.url}/{name}"}
        described = {"name": name, "kind": "http", "description": name, "parameters": parameters}
        tool = described | {"config": config, "is_allowed": True}
        answer = desk.tools_api.post("tools", json=tool)
        assert answer.status_code == 201, answer.text

    def calls_of(self, name: str) -> list[dict[str, Any]]:
        """The arguments of each call of the tool, oldest first."""
        return [json.loads(heard.body) for heard in self.server.heard if heard.path == f"/{name}"]
