"""Files that tools work on."""
from __future__ import annotations

import os
import pathlib
import typing


def path_match_suffix_ignore_case(path: pathlib.Path | str, suffix: str) -> bool:
    """Whether a path ends in `suffix`, in capitals or not."""
    return str(path).casefold().endswith(suffix.casefold())


def files_from_file_or_dir(
    file_or_dir_path: pathlib.Path | str, predicate: typing.Callable[[pathlib.Path], bool] = lambda _: True
) -> list[pathlib.Path]:
    """The file itself, or all files in the folder and below, as far as `predicate` takes them."""
    start = pathlib.Path(file_or_dir_path)
    if not start.is_dir():
        return [start] if predicate(start) else []
    found = (pathlib.Path(folder, name) for folder, _, names in os.walk(start) for name in names)
    return [path for path in found if predicate(path)]
