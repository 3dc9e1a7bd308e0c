"""What z is good for, measured beside trivial baselines: classify, regress, distance, sample, optimise.

Each task is one file with a ``run`` that yields results as plain dicts. ``benchmarks/latent.py`` writes them, one JSON
Lines file for each task. Choices are made on validation data; test data is touched once.
"""
