"""The form that orders a run again, on its own page and on the run's."""

from reflection_app.runs.models import Run
from reflection_app.web.forms import Form

REDO_FIELDS = ("instructions", "attempt")


def redo_form_of(run: Run, form: Form | None = None) -> dict[str, object]:
    """What the form needs, on its own page and on the run's."""
    form = form or Form(dict.fromkeys(REDO_FIELDS, ""))
    numbers = list(run.attempts.order_by("number").values_list("number", flat=True))
    return {"fields": form.fields, "general": form.general, "numbers": numbers}
