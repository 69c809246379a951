"""The code that opens files inside of the sandbox: one process a file, which answers and ends.

It is compiled outside and sent with the job. Each library is imported where it is needed: that takes most of the time.
"""
