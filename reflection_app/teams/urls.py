"""The addresses of accounts: allauth's views under names that it looks up, and ours. Nothing else of it is offered."""

from functools import partial

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.socialaccount import views as social
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.db import transaction
from django.urls import URLPattern, path, re_path
from django.utils.translation import gettext_lazy as _
from django.views.generic import RedirectView

from reflection_app.teams.pages import accounts, members
from reflection_app.teams.pages.login import BrakedLoginView, choose_first_password, login_link
from reflection_app.web.language import ForgettingLogoutView
from reflection_app.web.layout import inside_project
from reflection_app.web.pages import Page

Own = partial(Page, icon="person", within=_("Your profile"))

urlpatterns: list[URLPattern] = [
    path("login/", BrakedLoginView.as_view(), name="login"),
    path("login/", BrakedLoginView.as_view(), name="account_login"),
    path("login/link/<str:uidb64>/<str:token>/", login_link, name="login_link"),
    path("logout/", ForgettingLogoutView.as_view(), name="logout"),
    path("logout/", ForgettingLogoutView.as_view(), name="account_logout"),
    path("invitations/", members.follow_invitation, name="follow_invitation"),
    path("invitations/<str:secret>/", members.open_invitation, name="open_invitation"),
    Own("profile/", accounts.profile_page, "profile", _("Your profile"), words="language dark theme colours"),
    path("account/keys/", RedirectView.as_view(pattern_name="profile", query_string=True), name="own_keys"),
    path("account/keyboard/", RedirectView.as_view(pattern_name="profile", query_string=True), name="keyboard"),
    # All three that make accounts hold the lock on the invitation until they have: a link makes one account, however
    # often it is followed at once.
    path("account/signup/", transaction.atomic(account.signup), name="account_signup"),
    path("account/inactive/", account.account_inactive, name="account_inactive"),
    path("account/confirm/", inside_project(account.reauthenticate), name="account_reauthenticate"),
    Own("account/email/", inside_project(account.email), "account_email", _("Email addresses"), words="mail"),
    path("account/email/sent/", account.email_verification_sent, name="account_email_verification_sent"),
    path("account/email/confirm/<str:key>/", account.confirm_email, name="account_confirm_email"),
    Own("account/password/", inside_project(account.password_change), "account_change_password", _("Password")),
    path("account/password/set/", inside_project(account.password_set), name="account_set_password"),
    path("account/password/first/", choose_first_password, name="first_password"),
    path("account/password/lost/", account.password_reset, name="account_reset_password"),
    path("account/password/lost/sent/", account.password_reset_done, name="account_reset_password_done"),
    path(
        "account/password/new/done/", account.password_reset_from_key_done, name="account_reset_password_from_key_done"
    ),
    # Keys have hyphens of their own, which a converter would give to the id.
    re_path(
        r"^account/password/new/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    Own("account/two-factor/", inside_project(mfa.index), "mfa_index", _("Two-factor login"), words="2fa totp"),
    path("account/two-factor/login/", mfa.authenticate, name="mfa_authenticate"),
    path("account/two-factor/confirm/", inside_project(mfa.reauthenticate), name="mfa_reauthenticate"),
    path("account/two-factor/app/", inside_project(totp.activate_totp), name="mfa_activate_totp"),
    path("account/two-factor/app/off/", inside_project(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path(
        "account/two-factor/codes/", inside_project(recovery_codes.view_recovery_codes), name="mfa_view_recovery_codes"
    ),
    path(
        "account/two-factor/codes/new/",
        inside_project(recovery_codes.generate_recovery_codes),
        name="mfa_generate_recovery_codes",
    ),
    path("account/two-factor/codes/file/", recovery_codes.download_recovery_codes, name="mfa_download_recovery_codes"),
    Own("account/sessions/", inside_project(accounts.session_list), "usersessions_list", _("Browsers")),
    path("account/sessions/end/", accounts.end_others, name="end_sessions"),
    path("account/sessions/<int:session_id>/end/", accounts.end_one, name="end_session"),
    path("account/providers/", inside_project(social.connections), name="socialaccount_connections"),
    path("account/providers/signup/", transaction.atomic(social.signup), name="socialaccount_signup"),
    path("account/providers/cancelled/", social.login_cancelled, name="socialaccount_login_cancelled"),
    path("account/providers/error/", social.login_error, name="socialaccount_login_error"),
    path("account/oidc/<slug:provider_id>/login/", oidc.login, name="openid_connect_login"),
    path(
        "account/oidc/<slug:provider_id>/callback/", transaction.atomic(oidc.callback), name="openid_connect_callback"
    ),
]
