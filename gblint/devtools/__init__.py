"""Commands for people who work on gblint itself: run programs under Dynamo, score the analyzer.

Nothing in here is imported by `gblint check`. Torch is imported only in `dynamo_host`, a process of its own.
"""
