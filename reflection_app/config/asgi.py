"""The ASGI application: pages and REST by Django, sockets by Channels with the browser's session and origin checked."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
pages = get_asgi_application()

# Django has to be set up before anything that imports models.
from reflection_app.config.origin import OwnOriginOnly  # noqa: E402
from reflection_app.web.sockets import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnOriginOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
