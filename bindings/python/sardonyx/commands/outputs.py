"""Where the results of a command go, and checks before the work begins that they can go there."""
import os
from pathlib import Path

from sardonyx.commands.failure import Failure


def output_path(request, ending):
    """The path of the model that is written: that of --output, or beside the model with this ending."""
    model = Path(request.model)
    path = Path(request.output) if request.output else model.with_name(f"{model.stem}.{ending}.onnx")
    check_place(path, "--output")
    if path.exists() and path.samefile(model):
        raise Failure(f"--output: expected another file than the model, found '{path}'")
    if path.suffix != ".onnx":
        raise Failure(f"--output: expected a name that ends in .onnx, found '{path}'")
    return path


def check_place(path, option):
    """Raises a Failure if a file cannot be written there."""
    folder = path.parent
    if path.is_dir():
        raise Failure(f"{option}: expected the name of a file, found the folder '{path}'")
    if path.exists() and not path.is_file():
        raise Failure(f"{option}: expected the name of a file, found '{path}', which is a device or a pipe")
    if not folder.is_dir():
        raise Failure(f"{option}: there is no folder '{folder}' to write '{path.name}' to", "NO_SUCHFILE")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{option}: the folder '{folder}' cannot be written to", "FAIL")
