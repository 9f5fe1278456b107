"""Tests of webhook/diagnose/status."""
