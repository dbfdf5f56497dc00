"""`python -m yesca --profile program.py`: what the program spent its time on, when it has ended."""

from __future__ import annotations

import atexit
import sys

ROWS = 30


def begin(trace: str) -> None:
    """Profile this process from here on; `trace`: a file to write a trace to, or nothing.

    The report goes to standard error after everything that the program itself does at its end.
    """
    from ..profiler.scheduled import profile

    prof = profile(profile_memory=True)
    prof.start()

    def report() -> None:
        prof.stop()
        table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=ROWS)
        print(table or "nothing was computed", file=sys.stderr)
        if trace:
            prof.export_chrome_trace(trace)

    atexit.register(report)
