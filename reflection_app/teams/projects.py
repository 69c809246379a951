"""Making and setting up projects, what a person sets for themselves, and keys of pipelines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.adapters.live import ring_person
from reflection_app.adapters.llm.errors import ModelError
from reflection_app.adapters.llm.roles import model_for, offered_models
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError, InvalidInput, wrong
from reflection_app.core.models import (
    ApiKey,
    Digest,
    Profile,
    Project,
    Role,
    Scope,
    Theme,
    digest_of,
    new_secret,
)
from reflection_app.core.rights import review_right_ended
from reflection_app.loops.completeness.checks import CheckChoice, CompletenessSettings
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import ModelRole, Thresholds, UsualLimits
from reflection_app.loops.values import Value
from reflection_app.tasks.external_ids import keep_external_ids_apart
from reflection_app.teams.members import KeysLeft, add_member, end_keys_of, lock_members, revoke_invitations_of
from reflection_app.teams.models import Tool

# Making a project. Who makes it is its first admin.


LONGEST_NAME = 120
LONGEST_SLUG = 60
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class MayNotCreate(ActionError):
    """Only staff may make projects here."""

    status = 403
    title = gettext_noop("Not allowed here")


def may_create_projects(user: User) -> bool:
    """Whether the desk's setting PROJECT_CREATORS lets this person make projects."""
    return bool(settings.PROJECT_CREATORS == "everyone" or user.is_staff)


@transaction.atomic
def create_project(user: User, *, name: str, slug: str = "", actor: Actor) -> Project:
    """The new project; without `slug` its address is made of its name. Raises InvalidInput or MayNotCreate."""
    if not may_create_projects(user):
        raise MayNotCreate(_("Only staff can create projects on this server."))
    title = storable(name).strip()
    if not 1 <= len(title) <= LONGEST_NAME:
        raise wrong("name", _("1 to %(most)s characters") % {"most": LONGEST_NAME}, said=_("Enter a project name."))
    chosen = slug.strip()
    if not chosen:
        start = slugify(title)[: LONGEST_SLUG - 6].strip("-_").replace("_", "-") or "project"
        candidates = (start if number == 1 else f"{start}-{number}" for number in count(1))
        chosen = next(one for one in candidates if not Project.objects.filter(slug=one).exists())
    elif len(chosen) > LONGEST_SLUG or not SLUG.fullmatch(chosen):
        why = _("a-z, 0-9 and single hyphens between them, at most %(most)s") % {"most": LONGEST_SLUG}
        raise wrong("slug", why, said=_("Invalid address."))
    elif Project.objects.filter(slug=chosen).exists():
        raise wrong("slug", _("Another project has this address."))
    project = Project.objects.create(name=title, slug=chosen)
    audit(project.pk, actor, "project.created", target=project, after={"name": title, "slug": project.slug})
    add_member(project, user, role=Role.ADMIN, actor=actor)
    return project


# Changing a project's settings. Runs under way keep the settings they began with.


@transaction.atomic
def save_settings(project: Project, *, actor: Actor, **wanted: Any) -> Project:
    """Return the project with these columns, and the change in the trail; what is so already changes nothing."""
    locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    before = {name: getattr(locked, name) for name in wanted}
    if before != wanted:
        for name, value in wanted.items():
            setattr(locked, name, value)
        locked.save(update_fields=list(wanted))
        audit(locked.pk, actor, "settings.changed", target=locked, before=before, after=wanted)
    return locked


def own_completeness(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What of the chosen settings of the check differs from the server's: the rest follows the server."""
    usual = CompletenessSettings.model_validate(settings.COMPLETENESS).model_dump(mode="json")
    return {name: value for name, value in chosen.items() if value != usual.get(name)}


class CompletenessChange(CheckChoice):
    """Settings of the check to change. null: the server's setting."""


def change_completeness(project: Project, change: CompletenessChange, *, actor: Actor) -> Project:
    """Return the project with its settings of the check changed in part. Raises ValidationError."""
    given = change.model_dump(mode="json", include=change.model_fields_set)
    with transaction.atomic():
        locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        chosen = {name: value for name, value in (locked.completeness | given).items() if value is not None}
        locked.completeness = own_completeness(chosen)
        # The parts are valid; the whole may not be.
        locked.get_completeness()
        return save_settings(project, actor=actor, completeness=locked.completeness)


class HandingIn(Value):
    """What a project asks of tasks: whether each external id may be there once only, and which models they may name."""

    unique_external_ids: bool = False
    allowed_models: tuple[str, ...] = ()


@transaction.atomic
def change_settings(
    project: Project,
    *,
    limits: UsualLimits,
    thresholds: Thresholds,
    completeness: CompletenessSettings,
    knowledge_tool: str,
    handing_in: HandingIn,
    actor: Actor,
) -> Project:
    """The project with its new limits, thresholds, completeness checks, tool to ask for knowledge, and how tasks come.

    Of the check only what differs from the desk's own settings is kept, so that the rest follows those. Raises
    InvalidInput where the project has no such tool, no score could lead to REVISE, the desk offers no such model, or
    tasks have the same external id though each is to be there once.
    """
    if thresholds.revise_from > thresholds.pass_from:
        raise wrong("revise_from", _("Must not exceed the pass score."))
    if knowledge_tool and not Tool.objects.filter(project=project, name=knowledge_tool, is_enabled=True).exists():
        raise wrong("knowledge_tool", _("The project has no enabled tool with this name."))
    refused = sorted(set(handing_in.allowed_models) - set(offered_models()) - set(project.allowed_models))
    if refused:
        raise wrong("allowed_models", _("Not available on this server: %(names)s.") % {"names": ", ".join(refused)})
    # Whoever hands a task in meanwhile waits (tasks/submitting.py), so that none slips in under the former rule.
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if handing_in.unique_external_ids != locked.unique_external_ids:
        locked.unique_external_ids = handing_in.unique_external_ids
        keep_external_ids_apart(locked)
    return save_settings(
        locked,
        actor=actor,
        limits=limits.model_dump(mode="json"),
        thresholds=thresholds.model_dump(mode="json"),
        completeness=own_completeness(completeness.model_dump(mode="json")),
        knowledge_tool=knowledge_tool,
        unique_external_ids=handing_in.unique_external_ids,
        allowed_models=sorted(set(handing_in.allowed_models)),
    )


# Changing what a person sets for themselves. It belongs to no project, and so to no project's audit trail.


def change_profile(user: User, *, language: str, theme: str, wants_mail: bool, digest: str) -> Profile:
    """The person's profile as it is now. Empty, `language` is the browser's, `theme` the system's, and
    `digest` none. Raises InvalidInput.
    """
    errors = []
    if language and language not in dict(settings.LANGUAGES):
        errors.append({"field": "language", "message": _("This language is not supported.")})
    if theme and theme not in Theme.values:
        errors.append({"field": "theme", "message": _("Unknown theme.")})
    if digest and digest not in Digest.values:
        errors.append({"field": "digest", "message": _("Choose daily, weekly or never.")})
    if errors:
        raise InvalidInput(errors[0]["message"], errors=errors)
    chosen = {"language": language, "theme": theme, "wants_mail": wants_mail, "digest": digest}
    return Profile.objects.update_or_create(user=user, defaults=chosen)[0]


# Making the keys of pipelines.

# A pipeline hands in and reads. Deciding is asked for by name: whoever hands in work is not to judge it as well.
USUAL_SCOPES = (Scope.TASKS_WRITE, Scope.RUNS_READ)


@transaction.atomic
def create_api_key(
    project: Project,
    *,
    name: str,
    scopes: list[str],
    actor: Actor,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The key's row and its secret, which is not stored and cannot be shown again. Raises InvalidInput."""
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        said = _("Unknown scopes: %(names)s.") % {"names": ", ".join(unknown)} if unknown else ""
        why = _("one or more of %(names)s") % {"names": ", ".join(Scope.values)}
        raise wrong("scopes", why, said=said or _("Choose at least one scope."))
    if not name.strip() or len(name) > LONGEST_NAME:
        raise wrong("name", _("1 to 120 characters"), said=_("Enter a key name."))
    # Numbered where the project has had a key of that name: reviewers are told apart by it.
    wanted, taken = name.strip(), set(ApiKey.objects.filter(project=project).values_list("name", flat=True))
    numbered = (f"{wanted[: LONGEST_NAME - 6]} {number}" for number in count(2))
    free_name = wanted if wanted not in taken else next(other for other in numbered if other not in taken)
    secret = new_secret()
    key = ApiKey.objects.create(
        project=project,
        name=free_name,
        hint=secret[:8],
        digest=digest_of(secret),
        scopes=sorted(set(scopes)),
        created_by=actor.user,
        created_by_label=actor.user.get_username() if actor.user else "",
        expires_at=expires_at,
    )
    audit(project.pk, actor, "api_key.created", target=key, after={"name": key.name, "scopes": key.scopes})
    return key, secret


# Accounts, in all projects of the server.


@transaction.atomic
def disable_account(user: User, *, actor: Actor, revoke_keys: bool = True) -> KeysLeft:
    """Disable the account: no login, and no key that it made works. Return its keys.

    Memberships stay. In each project the holds, assignments, queue places and open invitations end.
    """
    User.objects.filter(pk=user.pk).update(is_active=False)
    revoked, remaining = list[ApiKey](), list[ApiKey]()
    of_user = Q(memberships__user=user) | Q(api_keys__created_by=user)
    for project in Project.objects.filter(of_user, deleted_at=None).distinct().order_by("pk"):
        lock_members(project)
        audit(project.pk, actor, "member.disabled", target=project, before={"name": user.get_username()})
        revoke_invitations_of(project, user.pk, actor=actor)
        review_right_ended.send(sender=User, project_id=project.pk, user_id=user.pk, actor=actor)
        keys = end_keys_of(project, user.pk, revoke=revoke_keys, actor=actor)
        revoked += keys.revoked
        remaining += keys.remaining
    transaction.on_commit(lambda: ring_person(user.pk))
    return KeysLeft(tuple(revoked), tuple(remaining))


@transaction.atomic
def enable_account(user: User, *, actor: Actor) -> None:
    """Enable the account again. What was released or revoked does not come back."""
    User.objects.filter(pk=user.pk).update(is_active=True)
    for project in Project.objects.of(user):
        audit(project.pk, actor, "member.enabled", target=project, after={"name": user.get_username()})


# Without these a run does with less, and fails no more for it.
OPTIONAL_ROLES = frozenset({ModelRole.ESCALATION, ModelRole.VISION})
ROLES = tuple(role.value for role in ModelRole if role not in OPTIONAL_ROLES)


@dataclass(frozen=True)
class RoleModel:
    role: str
    model: str


def models_by_role(project: Project, *, roles: tuple[str, ...] = ROLES) -> list[RoleModel]:
    """The model of each role as a run that began now would get it; no name where none is configured."""
    found = []
    for role in roles:
        try:
            model = model_for(role, project.models_by_role)
        except ModelError:
            model = ""
        found.append(RoleModel(role, model))
    return found
