"""Errors that these commands report: a code of the C interface and a message for people."""


import re


class Failure(Exception):  # noqa: N818  (a message for people, as in the command line tool)
    """The exit code is 3 for NOT_IMPLEMENTED, and 1 otherwise, as in the command line tool."""

    def __init__(self, message, code="INVALID_ARGUMENT"):
        super().__init__(message)
        self.code = code

    @property
    def exit_code(self):
        return 3 if self.code == "NOT_IMPLEMENTED" else 1


def need_onnx(purpose):
    """Raises a Failure where the package onnx is missing, which `purpose` needs."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        import sys

        raise Failure(f"{purpose} needs the Python package onnx, which {sys.executable} does not have: install it with "
                      f"{sys.executable} -m pip install onnx", "NOT_IMPLEMENTED") from None


def library_message(failure):
    """What an error of the library says, without its prefix; None for an error of another kind."""
    if not type(failure).__module__.startswith("sardonyx."):
        return None
    return re.sub(r"^\[Sardonyx\] : \d+ : \w+ : ", "", str(failure))
