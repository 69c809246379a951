"""Reflection protocol: six steps from a rewind ticket to a revised output. Source: the third design seed."""
