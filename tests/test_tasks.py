from datetime import timedelta

import pytest
from django.utils import timezone

from reflection_app.models import IdempotentAnswer
from reflection_app.tasks import tidy
from tests.factories import make_api_key, make_project


@pytest.mark.django_db
def test_only_old_idempotent_answers_are_forgotten() -> None:
    key, _ = make_api_key(make_project())
    for name in ("old", "new"):
        IdempotentAnswer.objects.create(api_key=key, key=name, fingerprint="")
    IdempotentAnswer.objects.filter(key="old").update(created_at=timezone.now() - timedelta(days=3))

    tidy()
    assert list(IdempotentAnswer.objects.values_list("key", flat=True)) == ["new"]
