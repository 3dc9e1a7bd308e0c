"""One training loop for every architecture: batches, loop, checkpoints, more than one process."""

ENDS = ("epochs", "minutes", "core_minutes")  # parameters that end a training: whichever comes first
