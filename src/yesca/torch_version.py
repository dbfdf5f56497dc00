"""`TorchVersion`: a version text that compares as a version, not letter by letter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .version import __version__ as _text

__all__ = ["TorchVersion"]

_PATTERN = re.compile(
    r"""\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_number>\d*))?
    (?:(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))|-(?P<post_implicit>\d+))?
    (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_LOWEST, _HIGHEST = ("",), ("~",)  # below and above every stage of a pre-release


def _key(text: str) -> tuple[Any, ...]:
    """What versions are ordered by (PEP 440); a ValueError where the text is no version."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"not a version: {text!r}")
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    has_post = match["post"] is not None or match["post_implicit"] is not None
    post = int(match["post_number"] or match["post_implicit"] or 0) if has_post else -1
    dev = float("inf") if match["dev"] is None else int(match["dev_number"] or 0)
    pre: tuple[Any, ...] = _HIGHEST
    if match["pre"] is not None:
        stage = match["pre"].lower()
        pre = (_STAGES.get(stage, stage), int(match["pre_number"] or 0))
    elif match["dev"] is not None and not has_post:
        pre = _LOWEST  # 1.0.dev1 comes before 1.0a1
    return (int(match["epoch"] or 0), tuple(release), pre, post, dev, _local_key(match["local"]))


def _local_key(local: str | None) -> tuple[tuple[int, int, str], ...]:
    if local is None:
        return ()
    parts = re.split(r"[-_.]", local.lower())
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def _as_text(other: object) -> str:
    if isinstance(other, str):
        return other
    if isinstance(other, (tuple, list)):
        return ".".join(map(str, other))
    if type(other).__name__ == "Version":  # the one of `packaging`, which need not be installed
        return str(other)
    raise ValueError(f"can't convert {other} to Version")


def _comparison(name: str) -> Callable[[TorchVersion, object], bool]:
    def compare(self: TorchVersion, other: object) -> bool:
        text = _as_text(other)
        try:
            return bool(getattr(_key(str(self)), name)(_key(text)))
        except ValueError:  # one of the two is no version: compare them as plain text
            return bool(getattr(str(self), name)(text))

    compare.__name__ = name
    return compare


class TorchVersion(str):
    """A `str` whose comparisons follow PEP 440, also with tuples and `packaging` versions.

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __lt__ = _comparison("__lt__")
    __le__ = _comparison("__le__")
    __gt__ = _comparison("__gt__")
    __ge__ = _comparison("__ge__")
    __eq__ = _comparison("__eq__")
    __ne__ = _comparison("__ne__")


__version__ = TorchVersion(_text)
