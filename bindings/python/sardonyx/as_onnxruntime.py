"""Runs a Python program on Sardonyx that was written for ONNX Runtime, without installing or changing anything.

usage: python -m sardonyx.as_onnxruntime [-m MODULE | -c CODE | PROGRAM] [ARGUMENTS]

The package `onnxruntime` that runs on Sardonyx stands in front of any that is installed, also in processes that the
program starts.
"""
import os
import pathlib
import runpy
import sys


def folder():
    """The folder with the package `onnxruntime`: in the wheel below this package, in a build beside it."""
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "_as_onnxruntime", package.parent.parent / "as_onnxruntime"]
    for place in places:
        if (place / "onnxruntime/_not_implemented.py").exists():
            return place
    raise FileNotFoundError(f"expected the package onnxruntime of Sardonyx in {' or '.join(map(str, places))}")


def put_in_front():
    """Makes `import onnxruntime` import Sardonyx's package, here and in processes that are started from here."""
    if "onnxruntime" in sys.modules:
        raise RuntimeError("expected to come before any import of onnxruntime, but it is already imported")
    # The folder of this package comes last: a virtual environment's other packages need not be in front.
    own = str(pathlib.Path(__file__).resolve().parent.parent)
    sys.path.insert(0, str(folder()))
    if own not in sys.path:
        sys.path.append(own)
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(folder()), *others, own]))


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) == 1):
        sys.exit(__doc__)
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which `python -m` puts there
    sys.argv = arguments if arguments[0] not in ("-m", "-c") else arguments[1:]
    sys.path.insert(0, "" if arguments[0] in ("-m", "-c") else str(pathlib.Path(arguments[0]).resolve().parent))
    put_in_front()
    if arguments[0] == "-m":
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv[0] = "-c"
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
