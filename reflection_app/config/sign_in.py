"""Logging in with an account of elsewhere: OpenID Connect providers, named in one variable."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

FORM = '[{"id": "corp", "name": "Corp", "url": "https://id.corp.example", "client_id": "…", "client_secret": "…"}]'
FIELDS = {"id", "name", "url", "client_id", "client_secret"}
ID = re.compile(r"[a-z0-9-]{1,40}")


def oidc_apps(told: str) -> list[dict[str, Any]]:
    """The providers as allauth takes them; none where nothing is told. Raises ImproperlyConfigured."""
    if not told:
        return []
    try:
        providers = json.loads(told)
    except ValueError:
        # Not quoted: it holds secrets.
        raise ImproperlyConfigured(f"OIDC_PROVIDERS is no JSON. Its form is {FORM}") from None
    if not isinstance(providers, list):
        raise ImproperlyConfigured(f"OIDC_PROVIDERS is no list. Its form is {FORM}")
    apps = [_app(provider, number) for number, provider in enumerate(providers, start=1)]
    if len({app["provider_id"] for app in apps}) < len(apps):
        raise ImproperlyConfigured("Two providers of OIDC_PROVIDERS have the same id.")
    return apps


def _app(provider: object, number: int) -> dict[str, Any]:
    if (
        not isinstance(provider, dict)
        or set(provider) != FIELDS
        or not all(isinstance(value, str) and value.strip() for value in provider.values())
    ):
        raise ImproperlyConfigured(f"Provider {number} of OIDC_PROVIDERS is not of this form: {FORM}")
    if not ID.fullmatch(provider["id"]):
        raise ImproperlyConfigured(f"The id of provider {number} of OIDC_PROVIDERS has other signs than a-z, 0-9 and -")
    parts = urlsplit(provider["url"])
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ImproperlyConfigured(f"The url of provider {number} of OIDC_PROVIDERS is no address of a site.")
    return {
        "provider_id": provider["id"],
        "name": provider["name"],
        "client_id": provider["client_id"],
        "secret": provider["client_secret"],
        "settings": {"server_url": provider["url"].rstrip("/")},
    }


def origins_of(apps: list[dict[str, Any]]) -> list[str]:
    """The sites that a login may lead to, for the CSP: a form that is answered by leading there needs leave for it."""
    addresses = [urlsplit(app["settings"]["server_url"]) for app in apps]
    return sorted({f"{parts.scheme}://{parts.netloc}" for parts in addresses})
