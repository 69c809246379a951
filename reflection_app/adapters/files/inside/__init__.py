"""The code that opens files, inside of the sandbox: one process for one file, which answers and is gone.

It is compiled outside and handed in with the job. Libraries are imported where a kind of file needs them, for the start
of the process is most of the time that a small file takes.
"""
