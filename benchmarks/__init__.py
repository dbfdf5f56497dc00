"""yesca against PyTorch, measured: see `README.md`, and run `python -m benchmarks --help`."""
