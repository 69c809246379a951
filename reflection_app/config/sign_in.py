"""Logging in with an account of elsewhere: OpenID Connect providers, named in one variable."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

FORM = '[{"id": "corp", "name": "Corp", "url": "https://id.corp.example", "client_id": "…", "client_secret": "…"}]'


class Provider(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True, str_min_length=1)

    id: str = Field(pattern=r"^[a-z0-9-]{1,40}$")
    name: str
    url: str = Field(pattern=r"^https?://[^/]+")
    client_id: str
    client_secret: str


def oidc_apps(told: str) -> list[dict[str, Any]]:
    """The providers as allauth takes them; none where nothing is told. Raises ImproperlyConfigured."""
    try:
        providers = TypeAdapter(list[Provider]).validate_json(told or "[]")
    except ValidationError as error:
        # What was given is not quoted: it holds secrets.
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ImproperlyConfigured(f"OIDC_PROVIDERS, {place}: {first['msg']}. Its form is {FORM}") from None
    if len({provider.id for provider in providers}) < len(providers):
        raise ImproperlyConfigured("Two providers of OIDC_PROVIDERS have the same id.")
    return [
        {
            "provider_id": provider.id,
            "name": provider.name,
            "client_id": provider.client_id,
            "secret": provider.client_secret,
            "settings": {"server_url": provider.url.rstrip("/")},
        }
        for provider in providers
    ]


def origins_of(apps: list[dict[str, Any]]) -> list[str]:
    """The sites that a login may lead to, for the CSP: a form that is answered by leading there needs leave for it."""
    addresses = [urlsplit(app["settings"]["server_url"]) for app in apps]
    return sorted({f"{parts.scheme}://{parts.netloc}" for parts in addresses})
