"""The version of this client, which has its own changelog."""

__version__ = "0.3.0"
USER_AGENT = f"reflection-desk-client/{__version__}"
