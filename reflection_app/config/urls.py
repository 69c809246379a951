from django.urls import include, path

from reflection_app.api.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", include("reflection_app.api.urls")),
    path("", include("reflection_app.web.urls")),
]
