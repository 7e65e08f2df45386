"""Generates the knowledge data under an installed torch; the only part of the package that imports torch.

Run `python -m gblint.knowledge.generate --help`. Sources: torch's own stubs and schemas (signatures), its database of
sample inputs (element kinds and ranks, by running each operator), and micro-programs compiled under Dynamo (breaks).
"""
