"""The language server: what `gblint check` says, in an editor, while the source is being written.

`checker` decides when what is checked, in a thread of its own; `app` speaks the protocol; the other modules turn
findings into what an editor shows.
"""
