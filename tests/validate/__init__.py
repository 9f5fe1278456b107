"""Tests of what checks profiles before they are applied."""
