"""Post-run reflection: find the errors of finished work and what to remember. Source: the fifth design seed."""
