"""The base of what decides on entries: a key that may only propose does not get this far."""

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.models import Scope

READING = (Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE)


class CuratingView(DeskView):
    """Changes need the scopes notebook:write and reviews:write, both.

    A pipeline proposes with notebook:write alone. Whoever has entries approved by it would let an agent write into its
    own next prompt; deciding is what reviews:write stands for everywhere.
    """

    scopes = needs(post=(Scope.NOTEBOOK_WRITE,))

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        if request.method not in {"GET", "HEAD"} and not self.key.has_scope(Scope.REVIEWS_WRITE):
            raise PermissionDenied("This needs a key with the scope reviews:write besides notebook:write.")
