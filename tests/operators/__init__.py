"""Tests with jobs that their own operators run, with torch: `make operators`."""
