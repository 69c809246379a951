"""The addresses of the pages' sockets, each with what draws it."""

from django.urls import URLPattern, path

from reflection_app.live.consumers import RunConsumer
from reflection_app.web.live_pages import look_at_run

websocket_urlpatterns: list[URLPattern] = [
    path("ws/p/<slug:slug>/runs/<uuid:run_id>", RunConsumer.as_asgi(look=look_at_run)),
]
