"""Entry point of `gblint` and `python -m gblint`."""

from __future__ import annotations

from gblint.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
