"""What is said along with static files: a picture that is opened by itself must not act."""

from wsgiref.headers import Headers

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def add_static_headers(headers: Headers, _path: str, _url: str) -> None:
    headers["Content-Security-Policy"] = POLICY
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
