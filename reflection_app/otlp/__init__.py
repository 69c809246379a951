"""OpenTelemetry's traces of agents: read as they are sent, told as messages of a session. Pure: no Django, no I/O."""
