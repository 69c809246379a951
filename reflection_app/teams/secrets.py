"""Secrets of tools: kept, replaced, deleted. A value goes in and is never told again."""

import re

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field, SecretStr

from reflection_app.adapters.outgoing import AddressRefused, origin_of
from reflection_app.adapters.tools.headers import SECRET_NAME, secrets_named
from reflection_app.adapters.tools.secret_values import encrypt
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.models import Project
from reflection_app.loops.values import Value
from reflection_app.teams.models.tool import Secret, Tool

# Shorter ones could not be found in what servers echo without spoiling ordinary words.
_USABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{6,3998})[\x21-\x7e]")


class SecretInput(Value):
    """A secret, and the one origin (scheme, host and port) that it may be sent to."""

    name: str = Field(description="letters, digits, _ and -; headers refer to it as {secret:NAME}")
    origin: str = Field(description="an address of the server, such as https://api.example.com")
    value: SecretStr = Field(description="never told again")


def save_secret(project: Project, given: SecretInput, *, actor: Actor) -> Secret:
    """The secret; one of the same name is replaced, value and origin. Raises InvalidInput."""
    origin = _check(given)
    fields = {"origin": origin, "ciphertext": encrypt(given.value.get_secret_value(), origin=origin)}
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        before = Secret.objects.filter(project=project, name=given.name).first()
        secret, is_new = Secret.objects.update_or_create(
            project=project, name=given.name, defaults=fields, create_defaults={**fields, "created_by": actor.user}
        )
        audit(
            project.pk,
            actor,
            "secret.created" if is_new else "secret.replaced",
            target=secret,
            before={"origin": before.origin} if before else {},
            after={"name": secret.name, "origin": origin},
        )
    return secret


@transaction.atomic
def delete_secret(secret: Secret, *, actor: Actor) -> None:
    """Deletes the secret; tools that name it fail from then on and say so. Raises NotFound the second time."""
    locked = Secret.objects.select_for_update(of=("self",)).filter(pk=secret.pk).first()
    if locked is None:
        raise NotFound(_("There is no such secret."))
    told = {"name": locked.name, "origin": locked.origin}
    audit(locked.project_id, actor, "secret.deleted", target=locked, before=told)
    locked.delete()


def tools_with(secret: Secret) -> list[Tool]:
    """The project's tools whose headers name the secret."""
    tools = Tool.objects.filter(project_id=secret.project_id)
    return [tool for tool in tools if secret.name in secrets_named(dict(tool.config.get("headers", {})).values())]


def _check(given: SecretInput) -> str:
    """The origin, written one way. Raises InvalidInput, whose texts never hold the value."""
    errors = []
    origin = ""
    if not SECRET_NAME.fullmatch(given.name):
        errors.append({"field": "name", "message": _("letters, digits, _ and -, beginning with a letter; at most 64")})
    try:
        origin = origin_of(given.origin)
    except AddressRefused as error:
        errors.append({"field": "origin", "message": str(error)})
    if not _USABLE.fullmatch(given.value.get_secret_value()):
        errors.append({"field": "value", "message": _("8 to 4000 printable ASCII characters, no space at the ends")})
    if errors:
        raise InvalidInput(_("The secret was not saved."), errors=errors)
    return origin
