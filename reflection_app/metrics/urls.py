"""The addresses of the metrics within a project."""

from django.urls import URLPattern, path

from reflection_app.metrics.pages import calibration, dashboards, datasets, figures

urlpatterns: list[URLPattern] = [
    path("metrics/", figures.metrics_page, name="metrics"),
    path("metrics/reviews/", figures.review_metrics, name="review_metrics"),
    path("metrics/lessons/", figures.lesson_metrics, name="lesson_metrics"),
    path("metrics/corrections/", figures.correction_metrics, name="correction_metrics"),
    path("metrics/referees/", figures.referee_metrics, name="referee_metrics"),
    path("metrics/dashboards/", dashboards.dashboard_list, name="dashboards"),
    path("metrics/dashboards/new/", dashboards.edit_dashboard, name="new_dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/", dashboards.dashboard_page, name="dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/edit/", dashboards.edit_dashboard, name="edit_dashboard"),
    path("metrics/dashboards/<uuid:dashboard_id>/delete/", dashboards.drop_dashboard, name="drop_dashboard"),
    path("metrics/datasets/", datasets.datasets_page, name="datasets"),
    path("metrics/datasets/<slug:kind>.<slug:form>", datasets.dataset_file, name="dataset_file"),
    path("metrics/<slug:subject>.csv", figures.metrics_export, name="metrics_export"),
]


# The addresses of calibration within a project.

calibration_urlpatterns: list[URLPattern] = [
    path("metrics/calibration/", calibration.calibration_page, name="calibration"),
    path("metrics/calibration/import/", calibration.import_file, name="import_judgements"),
    path("metrics/calibration/import/<uuid:judgements_id>/delete/", calibration.drop_import, name="delete_judgements"),
    # Pages that were there before; bookmarks lead to the calibration.
    path("metrics/calibration/items/", calibration.former_page, name="judged_items"),
    path("metrics/calibration/items/<uuid:item_id>/", calibration.former_page, name="judged_item"),
    path("metrics/calibration/import/<uuid:judgements_id>/", calibration.former_page, name="judgements_shown"),
]
