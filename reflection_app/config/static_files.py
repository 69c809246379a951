"""Static files as they are collected and served: under names that change with them, compressed, kept by browsers."""

import hashlib
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

# A picture that is opened by itself must not act.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


class DeskStaticFiles(StaticFilesConfig):
    """What packages bring and no page of ours asks for is not collected, nor are the parts of the one stylesheet."""

    ignore_patterns = (
        *StaticFilesConfig.ignore_patterns,
        # The stylesheet itself comes from a finder of its own.
        "css/*",
        *("redoc", "rest_framework", "swagger-ui-standalone-preset.*", "swagger-ui-es-bundle*"),
        *("htmx-4*", "htmax-4*", "*-4.js", "*-4.min.js", "htmx-2.js", "*.LICENSE.txt"),
    )


def add_static_headers(headers: Headers, _path: str, _url: str) -> None:
    headers["Content-Security-Policy"] = POLICY
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"


def collect_static() -> None:
    """STATIC_ROOT holds what pages ask for, as it is now; where it does already, that is found out in milliseconds."""
    stamp = settings.STATIC_ROOT / ".collected-from"
    # Changes whenever a file that would be collected does, or the settings of how.
    found = hashlib.sha256(repr((settings.STORAGES["staticfiles"], DeskStaticFiles.ignore_patterns)).encode())
    for finder in get_finders():
        for path, storage in finder.list(DeskStaticFiles.ignore_patterns):
            found.update(f"{path} {storage.size(path)} {storage.get_modified_time(path).timestamp()}\n".encode())
    now = found.hexdigest()
    if stamp.exists() and stamp.read_text() == now:
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(now)
