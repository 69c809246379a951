"""The addresses of the pages' sockets, each with what draws it."""

from django.urls import URLPattern, path, re_path

from reflection_app.reviews.live import ReviewsConsumer
from reflection_app.runs.live import NoSuchSocket, RunConsumer
from reflection_app.runs.views.live import draw_partial, look_at_run, may_hear_reviews

websocket_urlpatterns: list[URLPattern] = [
    path("ws/p/<slug:slug>/runs/<uuid:run_id>", RunConsumer.as_asgi(look=look_at_run, draw_partial=draw_partial)),
    path("ws/p/<slug:slug>/reviews", ReviewsConsumer.as_asgi(may_hear=may_hear_reviews)),
    re_path("", NoSuchSocket.as_asgi()),
]
