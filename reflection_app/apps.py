from django.apps import AppConfig


class ReflectionAppConfig(AppConfig):
    name = "reflection_app"
    label = "reflection_app"
