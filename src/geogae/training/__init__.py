"""One training loop for every architecture: batches, loop, checkpoints, more than one process."""
