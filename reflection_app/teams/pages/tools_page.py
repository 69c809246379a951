"""The tools of a project, its secrets, and the built-in tools by one click."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.adapters.tools.builtin import SPECS
from reflection_app.core.errors import InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.teams.models.tool import Secret, Tool
from reflection_app.teams.pages.tool_forms import blame_plainly
from reflection_app.teams.secrets import SecretInput, delete_secret, save_secret, tools_with
from reflection_app.teams.tools import add_builtin_tools
from reflection_app.web.access import DeskRequest, get_secret_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.forms import Typed, read_typed

SECRET_FIELDS = ("secret_name", "origin")


@project_page()
@require_safe
def tools(request: DeskRequest) -> HttpResponse:
    return _page(request)


def _page(request: DeskRequest, *, secret_form: Typed | None = None, status: int = 200) -> HttpResponse:
    project = request.place.project
    rows = list(Tool.objects.filter(project=project))
    form = secret_form or Typed(dict.fromkeys((*SECRET_FIELDS, "value"), ""))
    missing = [name for name in SPECS if name not in {tool.name for tool in rows}]
    context = {
        "tools": rows,
        "missing_builtins": missing,
        "secrets": list(Secret.objects.filter(project=project).select_related("created_by").defer("ciphertext")),
        "secret_form": form,
        "secret_fields": form.fields,
        "may_change": request.place.may(Permission.CHANGE_TOOLS),
    }
    return render(request, "tools/list.html", context, status=status)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def add_builtins(request: DeskRequest) -> HttpResponse:
    added = add_builtin_tools(request.place.project, actor=request.place.actor)
    names = ", ".join(tool.name for tool in added)
    messages.success(request, _("Added: %(names)s.") % {"names": names} if added else _("They were all there already."))
    return redirect("tools", slug=request.place.project.slug)


@project_page(Permission.CHANGE_TOOLS)
@post_only(page="tools")
def keep_secret(request: DeskRequest) -> HttpResponse:
    """Keeps the secret. Its value is not shown again, also where another field is wrong."""
    typed = read_typed(request.POST, SECRET_FIELDS)
    given = {
        "name": typed.values["secret_name"],
        "origin": typed.values["origin"],
        "value": request.POST.get("value", ""),
    }
    typed.values["value"] = ""
    try:
        secret = save_secret(request.place.project, SecretInput.model_validate(given), actor=request.place.actor)
    except InvalidInput as error:
        renamed = {"name": "secret_name"}
        blame_plainly(typed, [one | {"field": renamed.get(one["field"], one["field"])} for one in error.errors])
        return _page(request, secret_form=typed, status=400)
    messages.success(
        request,
        _("The secret %(name)s is kept. Write {secret:%(name)s} in a header to use it.") % {"name": secret.name},
    )
    return redirect("tools", slug=request.place.project.slug)


@project_page(Permission.CHANGE_TOOLS)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_secret(request: DeskRequest, secret_id: UUID) -> HttpResponse:
    """Asks first, naming the tools that use it; the POST deletes."""
    secret = get_secret_for(request.place, secret_id)
    if request.method != "POST":
        return render(request, "tools/delete_secret.html", {"secret": secret, "used_by": tools_with(secret)})
    delete_secret(secret, actor=request.place.actor)
    messages.success(request, _("The secret %(name)s is deleted.") % {"name": secret.name})
    return redirect("tools", slug=request.place.project.slug)
