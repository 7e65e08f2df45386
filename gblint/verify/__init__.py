"""Verification: run the user's program, read what Dynamo says, and hold it against what was predicted.

The only part of gblint that runs code, and only when it is told to.
"""
