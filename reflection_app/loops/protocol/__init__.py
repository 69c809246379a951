"""The reflection protocol: six steps from a rewind ticket to a revised output, after the third design seed."""
