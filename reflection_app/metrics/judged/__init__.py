"""How well the desk judges a folder of rows that people judged: one module a kind, each with `measure(folder)`."""
