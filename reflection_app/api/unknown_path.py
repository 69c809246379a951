from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from reflection_app.api.negotiation import AlwaysJson
from reflection_app.core.errors import NotFound


class NoSuchPath(APIView):
    """404 for every path of the API that is none, whatever the method."""

    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = AlwaysJson
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"There is no {request.path} here. The paths are listed at /api/v1/docs.")
