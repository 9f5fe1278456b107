"""Tests of the API client."""
