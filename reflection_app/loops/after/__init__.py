"""Looking back at work that has ended: what went wrong in it, and what to remember. After the fifth design seed."""
