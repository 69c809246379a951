"""The ASGI application: pages and REST by Django, tools for agents by MCP's SDK, sockets by Channels with the browser's
session and origin checked.
"""

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
pages: Any = get_asgi_application()

# Django has to be set up before anything that imports models.
from reflection_app.api.mcp.endpoint import PATH, McpEndpoint  # noqa: E402
from reflection_app.config.origin import Application, NoForeignOrigin, OwnOriginOnly, Receive, Scope, Send  # noqa: E402
from reflection_app.config.sockets import websocket_urlpatterns  # noqa: E402

mcp = NoForeignOrigin(McpEndpoint(pages))


async def http(scope: Scope, receive: Receive, send: Send) -> None:
    asked: Application = mcp if scope["path"] == PATH else pages
    await asked(scope, receive, send)


application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": OwnOriginOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
