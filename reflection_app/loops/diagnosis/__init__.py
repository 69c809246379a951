"""Diagnosis of failed tool calls: the error type, its cause, and the remedy."""
