"""The ASGI application: pages and REST by Django, tools for agents by MCP's SDK, sockets by Channels with the browser's
session and origin checked.
"""

import os
from typing import Any

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
django.setup(set_prefix=False)

# Django has to be set up before anything that imports models.
from reflection_app.api.mcp.endpoint import PATH, McpEndpoint  # noqa: E402
from reflection_app.config.http_handler import HttpHandler  # noqa: E402
from reflection_app.config.origin import Application, NoForeignOrigin, OwnOriginOnly, Receive, Scope, Send  # noqa: E402
from reflection_app.config.sockets import websocket_urlpatterns  # noqa: E402

pages: Any = HttpHandler()
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
