"""Rules: one file per graph-break id or family, discovered by walking this package.

A rule imports `gblint.rule_api` and nothing else of gblint.
"""
