from collections.abc import Iterator

import pytest

from tests.adapters.outgoing.conftest import loopback
from tests.adapters.tools.mcp_server import McpServer

__all__ = ["loopback"]


@pytest.fixture(scope="session")
def mcp_server() -> Iterator[McpServer]:
    with McpServer() as server:
        yield server
