"""Sources of secondary addresses."""
