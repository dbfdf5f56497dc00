"""Losses of classification."""
