"""Tests: a folder for each wing of webhook/ and for certs/ (core tier), and a folder for each tier that needs more than Python.

What tests of several folders share lies here: pods and clusters, API servers that stand for a real one, `wait_until`.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""
