"""Stand-in for the settings room: the few variables the machine level reads."""

import os

DEFAULTS = {
    "YESCA_CACHE_DIR": "",
    "YESCA_CACHE_SIZE": 1 << 30,
    "YESCA_NUM_THREADS": 0,
    "YESCA_PORTABLE": False,
    "YESCA_CPU": "",
    "YESCA_CPU_FEATURES": "",
    "YESCA_DEBUG": 0,
}


def get(name):
    """The value of a setting, converted to the type of its default."""
    default = DEFAULTS.get(name, "")
    text = os.environ.get(name, "")
    if text == "":
        return default
    if isinstance(default, bool):
        return text not in ("0", "false", "no", "off")
    return type(default)(text)
