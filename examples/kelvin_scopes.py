"""Scopes of a Python program in its recording.

    from kelvin_scopes import scope, count, gauge

    with scope("request"):
        count("requests")

Under `kelvin record -- python3 app.py` spans, counters and gauges are recorded; otherwise nothing
happens. Scopes nest within a thread. Do not leave one open across a yield or an await: another
task would end it.
"""
import ctypes
import os


def _load():
    words = os.environ.get("KELVIN_SCOPES", "").split(" ", 3)  # PID FD INODE LIBRARY
    if len(words) != 4:
        return None
    try:
        library = ctypes.PyDLL(words[3])  # keeps the interpreter's lock: calls take nanoseconds
        library.kelvin_push.argtypes = [ctypes.c_char_p]
        for name in ("kelvin_count", "kelvin_gauge"):
            getattr(library, name).argtypes = [ctypes.c_char_p, ctypes.c_int64]
            getattr(library, name).restype = None
        library.kelvin_pop.restype = None
        return library
    except (OSError, AttributeError):
        return None


_library = _load()


class scope:
    """A span from here to the end of the block."""

    __slots__ = ("name", "pushed")

    def __init__(self, name):
        self.name = name.encode()
        self.pushed = 0

    def __enter__(self):
        if _library:
            self.pushed = _library.kelvin_push(self.name)
        return self

    def __exit__(self, *exception):
        if self.pushed:
            _library.kelvin_pop()
        return False


def count(name, n=1):
    """Something happened N times more."""
    if _library:
        _library.kelvin_count(name.encode(), n)


def gauge(name, value):
    """Something is at VALUE now."""
    if _library:
        _library.kelvin_gauge(name.encode(), value)


if __name__ == "__main__":
    for request in range(200):
        with scope("request"):
            with scope("parse"):
                words = [str(n) for n in range(500)]
            with scope("answer"):
                text = " ".join(sorted(words))
            count("bytes", len(text))
        gauge("left", 199 - request)
