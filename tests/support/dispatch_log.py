"""A dispatch mode that keeps the names of the operators it sees."""

from yesca.utils._python_dispatch import TorchDispatchMode


class Log(TorchDispatchMode):
    """Keeps the names of what it sees."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))
