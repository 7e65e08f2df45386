"""`gblint completion`: what makes a shell complete the commands, options and rules of gblint."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from gblint.cli.main import cli, print_out


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a script for SHELL that completes commands, options, formats and rules.

    bash: gblint completion bash > ~/.local/share/bash-completion/completions/gblint.
    zsh: gblint completion zsh > a folder of your fpath/_gblint.
    fish: gblint completion fish > ~/.config/fish/completions/gblint.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # `source` of bash first asks the installed bash for its version, which need not be the shell in use.
    complete = kind(cli, {}, "gblint", "_GBLINT_COMPLETE")
    print_out(complete.source_template % complete.source_vars())
    return 0
