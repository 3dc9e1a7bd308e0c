"""The command line: ``geogae`` and ``python -m geogae``."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit; Ctrl-C prints one line, also during the imports."""
    code: int | str | None = 130
    try:
        from geogae.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
    except SystemExit as end:
        code = end.code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt
    sys.exit(code)


if __name__ == "__main__":
    main()
