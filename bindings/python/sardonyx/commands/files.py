"""Files that are there as a whole or not at all: they are written beside their place under another name, and then
renamed."""
import contextlib
import errno
import os
import shutil
import signal
import tempfile
from pathlib import Path

from sardonyx.commands.failure import Failure

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """SIGTERM or SIGHUP came."""


def raise_on_signals():
    """All three signals end the command with an exception, so that it tidies up."""
    def on_signal(number, frame):
        raise Interrupted
    for number in _SIGNALS[1:]:
        signal.signal(number, on_signal)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_full(failure):
    """Whether an error of Python or of the library says that no space is left where a file was written."""
    return os.strerror(errno.ENOSPC) in str(failure)


@contextlib.contextmanager
def undisturbed():
    """Signals wait until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def unfinished(output):
    """A path in a new folder beside `output` with its file name. In the end, all files of that folder take their places
    beside `output`, which comes last; after an error, none of them is left."""
    output = Path(output)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    except OSError as failure:
        raise Failure(f"--output: cannot write to the folder '{output.parent}': {failure.strerror}", "FAIL") from None
    try:
        yield folder / output.name
        with undisturbed():
            made = sorted(folder.iterdir(), key=lambda one: one.name == output.name)
            for one in made:
                os.replace(one, output.parent / one.name)
    except Exception as failure:
        if not is_full(failure):
            raise
        raise Failure(f"cannot write '{output}': no space is left in '{output.parent}'. Make room there, or choose "
                      "another place", "FAIL") from None
    finally:
        with undisturbed():
            shutil.rmtree(folder, ignore_errors=True)


def write_text(path, text):
    """Writes a text file as a whole."""
    with unfinished(path) as unready:
        unready.write_text(text, encoding="utf-8")


def size_of(path, model):
    """Bytes of a model with its external data. `model`: the same as a sardonyx.model.Model."""
    size = Path(path).stat().st_size
    weights = sum(known.size for graph in model.graphs if graph is not None for known in graph.initializers.values())
    return size if size >= weights else size + weights
