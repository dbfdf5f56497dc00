"""Runs programs written for PyTorch: `python -m yesca program.py`. See README.md in this folder."""
