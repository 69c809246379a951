"""Whether a request may speak MCP at all: asked before the SDK reads it, by the rules of every call of REST."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.permissions import Permission


class McpGate(DeskView):
    """204 for any key that works: what it may do is said tool by tool. No session is kept, so there is only POST."""

    http_method_names: ClassVar[list[str]] = ["post"]  # type: ignore[misc]
    permissions = needs(post=Permission.CONNECT)
    schema = None

    def post(self, request: Request) -> Response:
        read_query(request, NoParameters)
        return Response(status=204)
