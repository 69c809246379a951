from concurrent.futures import ThreadPoolExecutor

from celery import current_app
from django.conf import settings


def broker_of_this_thread() -> tuple[str, str]:
    return current_app.main, current_app.conf.broker_url


def test_every_thread_enqueues_to_the_configured_broker() -> None:
    expected = ("reflection_desk", settings.CELERY_BROKER_URL)

    with ThreadPoolExecutor(1) as other:
        assert other.submit(broker_of_this_thread).result() == expected
    assert broker_of_this_thread() == expected
