"""How often people say otherwise than critics, and what calibration shows of one critic."""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.metrics.calibration import VERDICTS, Calibration, MatrixCell
from reflection_app.metrics.review_figures import Overruled
from reflection_app.metrics.views.charts import (
    Cell,
    Chart,
    Mark,
    dots,
    plain,
    share_axis,
    ticks,
    titled,
    whiskers,
)
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.families import FAMILIES
from reflection_app.metrics.views.words import (
    figure_words,
    interval_text,
    interval_words,
    share_words,
    verdict_words,
)

MOST_NAMES = 12


def overruled_chart(name: str, found: Sequence[Overruled], links: Links) -> Chart:
    """The share that was overruled, one line for each name of that family, with its 95 % interval."""
    whom = FAMILIES[name]
    shown = sorted(found, key=lambda one: -one.decided)[:MOST_NAMES]
    marks, rows = [], []
    for one in shown:
        href, share, interval = links.runs(whom.name, one.name), figure_words(one.share), interval_words(one.share)
        said = f"{one.name}: {share}{f' ({interval})' if interval else ''} · {one.overruled:,}/{one.decided:,}"
        marks.append(Mark(one.name, one.share.value, said, href, low=one.share.low, high=one.share.high))
        numbers = (f"{one.decided:,}", f"{one.overruled:,}", share, interval)
        rows.append((Cell(one.name, href), *map(Cell, numbers)))
    return Chart(
        name=whom.name,
        title=str(whom.title),
        hint=str(whom.hint),
        figure=dots(marks, axis=share_axis(bound for mark in marks for bound in (mark.low, mark.value, mark.high))),
        columns=(str(whom.column), _("Decided"), _("Overruled"), _("Share"), _("Interval (95 %)")),
        rows=tuple(rows),
        empty=str(whom.empty),
    )


# A critic's confusion matrix and reliability curve, as charts with their tables.

# So that the darkest cell stays light enough for its words.
PALE = 2.2
type Address = Callable[[str, str], str]


def matrix_chart(found: Calibration, *, address: Address) -> Chart:
    """What the critic said against what people said; each cell leads to what is behind it."""
    # As VERDICTS are in both directions.
    rows = [found.matrix[start : start + len(VERDICTS)] for start in range(0, len(found.matrix), len(VERDICTS))]
    shares = [[cell.share for cell in row] for row in rows]
    trace = {
        "type": "heatmap",
        "z": shares,
        "zmin": 0,
        "zmax": max(max(row) for row in shares) * PALE or 1,
        "text": [[f"{share_words(cell.share)}<br>{cell.seen:,}" for cell in row] for row in rows],
        "texttemplate": "%{text}",
        "hovertext": [[_hover_text(cell) for cell in row] for row in rows],
        "hoverinfo": "text",
        "customdata": [[_behind(cell, address) for cell in row] for row in rows],
        "meta": {"scale": True},
    }
    verdicts = ticks([verdict_words(one) for one in VERDICTS])
    layout = {
        "xaxis": titled(_("Human verdict"), **verdicts, side="top"),
        "yaxis": titled(_("Critic"), **verdicts, autorange="reversed"),
    }
    return Chart(
        name="confusion",
        title=_("Critic vs. human verdicts"),
        hint=_("Each cell: share of all critic verdicts and number compared. The diagonal shows agreement."),
        figure={"data": [trace], "layout": layout},
        columns=(
            _("Critic verdict"),
            *(_("Human: %(verdict)s") % {"verdict": verdict_words(one)} for one in VERDICTS),
        ),
        rows=tuple(
            (
                Cell(verdict_words(row[0].critic)),
                *(Cell(f"{share_words(cell.share)} ({cell.seen:,})", _behind(cell, address)) for cell in row),
            )
            for row in rows
        ),
    )


def _behind(cell: MatrixCell, address: Address) -> str:
    return address(cell.critic, cell.people) if cell.seen else ""


def _hover_text(cell: MatrixCell) -> str:
    said = _("Critic: %(critic)s, human: %(people)s")
    words = {"critic": verdict_words(cell.critic), "people": verdict_words(cell.people)}
    return plain(f"{said % words}: {share_words(cell.share)}, {_compared(cell.seen)}")


def _compared(count: int) -> str:
    return ngettext("%(count)s compared", "%(count)s compared", count) % {"count": f"{count:,}"}


def reliability_chart(found: Calibration) -> Chart:
    """How often the critic was right against how sure it was; on the diagonal it is as often right as it says."""
    bins = found.reliability.bins
    ideal = {
        "type": "scatter",
        "mode": "lines",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
        "name": _("Perfect calibration"),
        "meta": {"tone": "plain"},
    }
    right = [one.right for one in bins]
    dots = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [one.confidence for one in bins],
        "y": [one.estimate for one in right],
        "error_y": whiskers((one.low, one.estimate, one.high) for one in right),
        "line": {"width": 2},
        "marker": {"size": 9},
        "hovertext": [
            plain(f"{share_words(one.confidence)} → {share_words(one.right.estimate)}, {_compared(one.seen)}")
            for one in bins
        ],
        "hoverinfo": "text",
        "name": _("Critic"),
        "meta": {"tone": "one"},
    }
    layout = {
        "xaxis": share_axis([one.confidence for one in bins], _("Critic confidence")),
        "yaxis": share_axis([bound for one in right for bound in (one.low, one.high)], _("Human agreement")),
        "showlegend": True,
    }
    return Chart(
        name="reliability",
        title=_("Confidence calibration"),
        hint=_("Each dot groups verdicts of similar confidence. Below the line, the critic is overconfident."),
        figure={"data": [ideal, dots], "layout": layout},
        columns=(_("Confidence"), _("Compared"), _("Mean confidence"), _("Human agreement"), _("Interval (95 %)")),
        rows=tuple(
            (
                Cell(f"{one.low * 100:.0f}–{one.high * 100:.0f} %"),
                Cell(f"{one.seen:,}"),
                Cell(share_words(one.confidence)),
                Cell(share_words(one.right.estimate)),
                Cell(interval_text(one.right)),
            )
            for one in bins
        ),
        empty=_("The critic reported no confidence for these verdicts."),
    )
