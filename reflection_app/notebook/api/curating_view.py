"""The base of what decides on entries: a key that may only propose does not get this far."""

from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.core.permissions import Permission


class CuratingView(DeskView):
    permissions = needs(post=Permission.CURATE)
