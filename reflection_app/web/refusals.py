"""The page for a change that was not made. Each class of error has its status (core/errors.py)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from reflection_app.core.errors import ActionError


def refused(request: HttpRequest, error: ActionError) -> HttpResponse:
    return render(request, "refused.html", {"error": error, "title": _(error.title)}, status=error.status)
