"""Records the demo's month: every tale, in each course that it can take, really run on scripted models.

.venv/bin/python -m tests.teams.record_demo [ONLY TALES THAT FIT THIS PATTERN]

What comes of it, reflection_app/teams/demo/tales.json.xz, is what the demo is loaded from. Make it anew whenever loops
or tables have changed so that tests/teams/test_demo_tales.py says so.
"""

import sys
import time

from tests.load.engines import django_on_own_engines


def main() -> None:
    began = time.monotonic()
    with django_on_own_engines({"LOG_LEVEL": "ERROR"}):
        from tests.teams.demo_tales.recording import record_all

        size = record_all(*sys.argv[1:2])
    sys.stdout.write(f"{size:,} bytes in {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main()
