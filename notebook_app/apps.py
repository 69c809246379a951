from django.apps import AppConfig


class NotebookAppConfig(AppConfig):
    name = "notebook_app"
    label = "notebook_app"
