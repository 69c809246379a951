"""The OpenAPI description and the page that shows it; both can be read without a key."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.cache import cache_page
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation

# Making the description takes a good part of a second, and anybody may ask for it.
schema = cache_page(60)(
    SpectacularAPIView.as_view(
        authentication_classes=[], permission_classes=[], content_negotiation_class=DefaultContentNegotiation
    )
)


# Swagger UI writes style attributes; scripts stay as strict as everywhere.
POLICY: dict[str, Any] = {**settings.SECURE_CSP, "style-src": [CSP.SELF, CSP.UNSAFE_INLINE]}


@require_safe
@csp_override(POLICY)
def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html")
