"""What a run of these tests measured."""

Figures = list[str]
"""Lines that are printed after the tests."""
