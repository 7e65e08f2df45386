"""Codemods: each takes a finding and the libcst module it is in, and returns edits or a reason to decline."""
