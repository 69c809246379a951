"""Calls to the REST API by subject. The functions build requests; `Desk` has a method of the same name for each."""
