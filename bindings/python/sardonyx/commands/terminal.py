"""Output for people: colours on terminals, aligned columns, sizes, and a line that shows progress."""
import os
import sys
import threading
import time

_CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32"}
_PATIENCE, _PACE, _BAR = 0.5, 0.1, 24  # seconds before a line is shown and between two; characters


def _is_terminal(stream):
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(style, text, stream=None):
    stream = stream or sys.stdout
    if not _is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"


def columns(rows, indent="  "):
    """Rows of texts with two spaces between columns, aligned to the left."""
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows)))]
    lines = (indent + "  ".join(text.ljust(widths[at]) for at, text in enumerate(row)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def byte_text(count):
    for limit, unit, size in ((1e3, "bytes", 1), (1e6, "kB", 1e3), (1e9, "MB", 1e6)):
        if count < limit:
            return f"{count / size:.{0 if size == 1 else 1}f} {unit}"
    return f"{count / 1e9:.2f} GB"


def time_text(milliseconds):
    if milliseconds >= 100:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds:.3g} ms" if milliseconds >= 0.1 else f"{1e3 * milliseconds:.2g} us"


def decibel_text(value):
    return "exact" if value == float("inf") else "no number" if value != value else f"{value:.1f} dB"


def share_text(value):
    return "-" if value is None else f"{100 * value:.4g} %"


def noise_text(share):
    """A share of noise in percent."""
    return "no number" if not share < float("inf") else f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


class Progress:
    """If standard error is a terminal, shows what is done with a bar after half a second, and clears the line in the
    end. Call it with how much is done, from 0 to 1."""

    def __init__(self, what):
        self._what, self._fraction, self._end = what, None, threading.Event()
        self._painter = threading.Thread(target=self._show, daemon=True) if _is_terminal(sys.stderr) else None

    def __enter__(self):
        if self._painter:
            self._painter.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        if self._painter:
            self._painter.join()

    def __call__(self, fraction):
        self._fraction = min(max(fraction, 0), 1)

    def _show(self):
        start = time.monotonic()
        if self._end.wait(_PATIENCE):
            return
        while True:
            bar = ""
            if self._fraction is not None:
                filled = int(self._fraction * _BAR)
                bar = f"[{'=' * filled}{' ' * (_BAR - filled)}] {100 * self._fraction:3.0f} %  "
            sys.stderr.write(f"\r\033[K{self._what}  {bar}{time.monotonic() - start:.0f} s")
            sys.stderr.flush()
            if self._end.wait(_PACE):
                break
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
