#!/usr/bin/env python
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    if sys.argv[1:] == ["up"]:
        from reflection_app.config.up.desk import run_desk

        try:
            run_desk()
        except ImproperlyConfigured as problem:
            sys.exit(str(problem))
        return
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        # A command uses one connection; a pool would only try for half a minute where there is no database.
        settings.DATABASES["default"]["OPTIONS"].pop("pool", None)
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        sys.exit(str(problem))
    except OperationalError as error:
        database = "at DATABASE_URL" if settings.DATABASE_URL else "of this desk (`make run` starts it)"
        sys.exit(f"The database {database} does not answer: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
