"""The addresses of the metrics within a project."""

from django.urls import URLPattern, path

from reflection_app.metrics.pages import (
    metrics_export,
    metrics_lessons_page,
    metrics_page,
    metrics_referees_page,
    metrics_review_page,
)

urlpatterns: list[URLPattern] = [
    path("metrics/", metrics_page.metrics_page, name="metrics"),
    path("metrics/reviews/", metrics_review_page.review_metrics, name="review_metrics"),
    path("metrics/lessons/", metrics_lessons_page.lesson_metrics, name="lesson_metrics"),
    path("metrics/referees/", metrics_referees_page.referee_metrics, name="referee_metrics"),
    path("metrics/<slug:subject>.<str:form>", metrics_export.metrics_export, name="metrics_export"),
]
