"""Ranks items for a user."""
