"""Normalisation by statistics of channels."""
