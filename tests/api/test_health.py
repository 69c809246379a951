import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django.fixtures import Settings

from reflection_app.api.health import check_none_is_missing


@pytest.mark.django_db
def test_it_is_ready_when_everything_answers() -> None:
    response = Client().get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"ready": True, "checks": {"database": "ok", "migrations": "ok", "broker": "ok"}}
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["redis://:hunter2@127.0.0.1:1/0", "redis+socket:///nowhere/valkey.sock"])
def test_a_broker_that_is_away_is_named_without_secrets(settings: Settings, url: str) -> None:
    settings.CELERY_BROKER_URL = url
    response = Client().get("/readyz")
    assert response.status_code == 503
    checks = response.json()["checks"]
    assert checks["broker"].startswith("cannot be reached")
    assert checks["database"] == "ok"
    assert "hunter2" not in response.content.decode()


@pytest.mark.django_db
def test_a_database_that_is_away_is_told_soon_and_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOST": "127.0.0.1", "PORT": "1", "PASSWORD": "hunter2"}.items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    response = Client().get("/readyz")
    assert response.status_code == 503
    checks = response.json()["checks"]
    assert checks == {"database": "cannot be reached (OperationalError)", "migrations": "not known", "broker": "ok"}
    assert "hunter2" not in response.content.decode()


@pytest.mark.django_db
def test_a_missing_migration_is_not_ready() -> None:
    check_none_is_missing.cache_clear()
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "reflection_app")
    recorder.record_unapplied("reflection_app", newest)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "not applied" in response.json()["checks"]["migrations"]


@pytest.mark.django_db
def test_a_database_at_the_last_of_the_former_migrations_is_ready() -> None:
    check_none_is_missing.cache_clear()
    MigrationRecorder.Migration.objects.filter(name__contains="_squashed_").delete()
    assert Client().get("/readyz").json()["checks"]["migrations"] == "ok"


@pytest.mark.django_db
def test_a_running_process_is_not_ready_once_a_newer_version_has_migrated_the_database() -> None:
    assert Client().get("/readyz").status_code == 200
    MigrationRecorder(connection).record_applied("notebook_app", "9999_of_the_future")
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["migrations"] == (
        "The database was migrated by a newer version (migration notebook_app.9999_of_the_future is unknown here). "
        "Start that version or restore a backup."
    )
