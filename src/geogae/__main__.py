"""``python -m geogae`` is the command line."""

from geogae.cli import main

main()
