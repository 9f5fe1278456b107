"""Tests with jobs that their own operators run, with torch: what `make operators` runs, and no other target."""
