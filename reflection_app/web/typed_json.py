"""JSON that somebody typed into a field of a form."""

import json
from typing import Any

from django.utils.translation import gettext as _

from reflection_app.loops.json_paths import MOST_VALUES, has_more_values


class NotJson(ValueError):
    """It cannot be read; says why in a sentence."""


def read_typed_json(text: str) -> Any:
    """The value. Raises NotJson."""
    if has_more_values(text.encode(errors="surrogatepass")):
        raise NotJson(_("This has more than %(most)s values, which are not read.") % {"most": f"{MOST_VALUES:,}"})
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        told = {"msg": error.msg, "lineno": error.lineno, "colno": error.colno}
        raise NotJson(_("Not JSON: %(msg)s, line %(lineno)s, column %(colno)s.") % told) from None
    except (ValueError, RecursionError):
        why = _("Not JSON that can be read: a number is too long, or it is nested too deeply.")
        raise NotJson(why) from None
