from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("reflection_app.api.urls")),
    path("", include("reflection_app.web.urls")),
]
