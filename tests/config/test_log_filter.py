import pytest

from reflection_app.config.log_filter import without_tokens


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("GET /login/link/MQ/a-token/?more=1 404", "GET /login/link/…?more=1 404"),
        ("GET /invitations/a-secret/ 302", "GET /invitations/… 302"),
        ("GET /account/email/confirm/NA:1x:abc=/", "GET /account/email/confirm/…"),
        ("'/account/password/new/5-a-key/'", "'/account/password/new/…'"),
        ("GET /p/team/settings/members/ 200", "GET /p/team/settings/members/ 200"),
    ],
)
def test_the_secrets_of_links_are_not_shown(path: str, shown: str) -> None:
    assert without_tokens(path) == shown
