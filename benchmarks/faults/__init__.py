"""The parts of benchmarks/torture.py. Each takes a count and gives counts; ``failures`` lists all that went wrong."""
