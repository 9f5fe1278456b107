"""Tests of who is told which address."""
