"""Checkpoint files: what `yesca.serialization` is made of. See README.md."""
