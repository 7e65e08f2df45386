"""What a check is held against, so that only new findings are reported: a baseline, or a revision of the source."""
