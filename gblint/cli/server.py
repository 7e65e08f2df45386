"""`gblint server`: the language server, for editors."""

from __future__ import annotations

import click

from gblint.errors import GblintError


@click.command("server")
def command() -> int:
    """Serve an editor on standard input and output, by the Language Server Protocol. Editors start it themselves.

    Settings come from [tool.gblint], as for every command. Nothing of what is open is run or imported.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise GblintError(
            "the language server needs pygls, which is not installed", "pip install 'gblint[server]'"
        ) from None
    from gblint.server.app import serve

    serve()
    return 0
