"""From a record and its metadata to a running kernel: engine, cache, threads, memory."""
