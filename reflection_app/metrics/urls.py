"""The addresses of the metrics within a project."""

from functools import partial

from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from reflection_app.metrics.pages import calibration, dashboards, datasets, figures
from reflection_app.web.pages import Page

Metric = partial(Page, within=_("Metrics"))

urlpatterns: list[URLPattern] = [
    Page("metrics/", figures.metrics_page, "metrics", _("Metrics"), "chart", words="figures charts statistics cost"),
    Metric("metrics/reviews/", figures.review_metrics, "review_metrics", _("Review metrics"), "chart"),
    path("metrics/lessons/", figures.removed_page, {"to": "lift"}, name="lesson_metrics"),
    path("metrics/corrections/", figures.removed_page, {"to": "metrics"}, name="correction_metrics"),
    path("metrics/referees/", figures.removed_page, {"to": "calibration"}, name="referee_metrics"),
    Metric("metrics/dashboards/", dashboards.dashboard_list, "dashboards", _("Dashboards"), "chart", words="figures"),
    path("metrics/dashboards/new/", dashboards.edit_dashboard, name="new_dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/", dashboards.dashboard_page, name="dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/edit/", dashboards.edit_dashboard, name="edit_dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/delete/", dashboards.drop_dashboard, name="drop_dashboard"),
    Metric("metrics/datasets/", datasets.datasets_page, "datasets", _("Datasets"), "download", words="export dpo"),
    path("metrics/datasets/<slug:kind>.<slug:form>", datasets.dataset_file, name="dataset_file"),
    path("metrics/<slug:subject>.csv", figures.metrics_export, name="metrics_export"),
]


# The addresses of calibration within a project.

calibration_urlpatterns: list[URLPattern] = [
    Metric(
        "metrics/calibration/", calibration.calibration_page, "calibration", _("Calibration"), "scale", words="judges"
    ),
    path("metrics/calibration/import/", calibration.import_file, name="import_judgements"),
    path("metrics/calibration/import/<uuid:judgements_id>/delete/", calibration.drop_import, name="delete_judgements"),
    # Pages that were there before; bookmarks lead to the calibration.
    path("metrics/calibration/items/", figures.removed_page, {"to": "calibration"}, name="judged_items"),
    path("metrics/calibration/items/<uuid:item_id>/", figures.removed_page, {"to": "calibration"}, name="judged_item"),
    path(
        "metrics/calibration/import/<uuid:judgements_id>/",
        figures.removed_page,
        {"to": "calibration"},
        name="judgements_shown",
    ),
]
