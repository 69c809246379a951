"""Where the owner of a password that was printed chooses their own."""

from typing import cast

from allauth.account.forms import SetPasswordForm
from allauth.account.internal.flows.password_change import finalize_password_set
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from reflection_app.teams.first_password import must_change_password


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def choose_first_password(request: HttpRequest) -> HttpResponse:
    """A page that asks for a password, and for none of before: who is here has just logged in, perhaps by a link."""
    if not must_change_password(request.session):
        return redirect("overview")
    user = cast("User", request.user)
    form = SetPasswordForm(data=request.POST if request.method == "POST" else None, user=user)
    if form.is_valid():
        if not user.check_password(form.cleaned_data["password1"]):
            with transaction.atomic():
                form.save()
                finalize_password_set(request, user)
            return redirect("overview")
        form.add_error("password1", _("This is the password of the first start. Choose another."))
    return render(request, "account/first_password.html", {"form": form}, status=400 if form.errors else 200)
