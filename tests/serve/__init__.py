"""Tests of the webhook process."""
