"""PyTorch's public names, as recorded beside the tests of structure."""

from pathlib import Path

RECORDED = Path(__file__).parents[1] / "structure" / "torch_public_names.txt"


def recorded():
    """{"torch": {"modules": {...}, "names": {...}}, ...}."""
    found, current = {}, set()
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            package, kind = line.strip("[]").split()
            current = found.setdefault(package, {}).setdefault(kind, set())
        elif not line.startswith("#"):
            current.update(line.split())
    return found


PUBLIC = recorded()
