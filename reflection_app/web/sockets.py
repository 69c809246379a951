"""The addresses of the pages' sockets, each with what draws it."""

from django.urls import URLPattern, path, re_path

from reflection_app.live.consumers import NoSuchSocket, RunConsumer
from reflection_app.web.live_pages import draw_partial, look_at_run

websocket_urlpatterns: list[URLPattern] = [
    path("ws/p/<slug:slug>/runs/<uuid:run_id>", RunConsumer.as_asgi(look=look_at_run, draw_partial=draw_partial)),
    re_path("", NoSuchSocket.as_asgi()),
]
