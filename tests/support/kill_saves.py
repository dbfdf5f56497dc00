"""Kills processes at random moments while they save, and looks at what is left.

    python -m tests.support.kill_saves 200

Each child saves a checkpoint over an older one again and again. Whenever it is killed, the file
must be one of the checkpoints, whole.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yesca as torch

_CHILD = """
import io
import sys
import yesca as torch
path, seed, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.save([torch.full((size,), 1.0)], io.BytesIO())
print("ready", flush=True)
while True:
    seed += 1
    torch.save({"seed": seed, "values": [torch.full((size,), float(seed)) for _ in range(4)]}, path)
"""
LONGEST = 0.25  # seconds from the first save to the kill


def state(seed: int, size: int) -> dict:
    return {"seed": seed, "values": [torch.full((size,), float(seed)) for _ in range(4)]}


def check(path: Path, size: int) -> int:
    """The seed of a whole checkpoint; AssertionError for any other."""
    found = torch.load(path)
    seed = found["seed"]
    assert len(found["values"]) == 4
    assert all(bool((part == float(seed)).all()) and part.numel() == size
               for part in found["values"])
    return seed


def kill_while_saving(folder: Path, moments: int, source: random.Random,
                      size: int = 200_000) -> tuple[int, int]:
    """(saves that replaced the file, files left beside it) after so many kills."""
    path = folder / "checkpoint.pt"
    torch.save(state(0, size), path)
    last = replaced = 0
    for _ in range(moments):
        child = subprocess.Popen([sys.executable, "-c", _CHILD, str(path), str(last), str(size)],
                                 stdout=subprocess.PIPE)
        try:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            time.sleep(source.uniform(0.0, LONGEST))
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
        now = check(path, size)
        assert now >= last
        replaced, last = replaced + now - last, now
    left = [name for name in os.listdir(folder) if name != path.name]
    return replaced, len(left)


def main() -> None:
    moments = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        replaced, left = kill_while_saving(Path(folder), moments, random.Random(0))
    print(f"{moments} kills during saves: the file was whole each time; {replaced} saves came "
          f"through, {left} unfinished files are left")


if __name__ == "__main__":
    main()
