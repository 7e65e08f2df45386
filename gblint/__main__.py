"""Entry point of `gblint` and `python -m gblint`."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave with its exit code: 0, 1 or 2."""
    try:
        from gblint.cli.main import run_and_exit
    except KeyboardInterrupt:  # the first tenth of a second is spent on imports
        sys.exit(2)
    run_and_exit()


if __name__ == "__main__":
    main()
