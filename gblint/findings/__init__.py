"""Findings: what a rule says about one place, with confidence, heat, consequence and suppression."""
