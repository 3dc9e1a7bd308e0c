"""Tables of README.md and docs/ that are made from more than the results of one benchmark: a file for each study.

A module has ``TABLES``, name → function without arguments, and ``TABLES_OF_RUNS``, name → function of the rows of
``geogae.benchmark.summary``. Every module in this folder is found by itself.
"""
