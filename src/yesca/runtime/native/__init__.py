"""The runtime's own machinery, written in the native subset (`targets/native.py`)."""
