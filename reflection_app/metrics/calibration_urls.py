"""The addresses of calibration within a project."""

from django.urls import URLPattern, path

from reflection_app.metrics.pages import calibration_page, judged_pages

urlpatterns: list[URLPattern] = [
    path("metrics/calibration/", calibration_page.calibration_page, name="calibration"),
    path("metrics/calibration/items/", judged_pages.item_list, name="judged_items"),
    path("metrics/calibration/items/<uuid:item_id>/", judged_pages.item_page, name="judged_item"),
    path("metrics/calibration/import/", judged_pages.import_start, name="import_judgements"),
    path("metrics/calibration/import/<uuid:judgements_id>/", judged_pages.import_shown, name="judgements_shown"),
    path("metrics/calibration/import/<uuid:judgements_id>/apply/", judged_pages.import_apply, name="apply_judgements"),
]
