"""Whether a web process answers: asked by `manage.py up` and by the image's health check, so Django is not imported."""

import http.client
import os
import sys


def answers(address: str, *, timeout_s: float = 5) -> bool:
    """Whether `address` (host:port) answers requests, be it with a complaint about the host name."""
    client = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        client.request("GET", "/healthz")
        return client.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()


if __name__ == "__main__":
    sys.exit(0 if answers(f"127.0.0.1:{os.environ.get('PORT', '8000')}") else 1)
