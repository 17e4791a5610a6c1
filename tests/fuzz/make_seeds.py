"""Writes the seeds of the fuzz targets: the cases of the official suite, small graphs of the zoo, and random bytes.

usage: make_seeds.py FOLDER
"""
import hashlib
import pathlib
import random
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.printer

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 4096  # bytes of a seed: larger ones are slow to change and run


def suite_models():
    """The models of the suite and the values of their first data set."""
    from onnx.backend.test.case.model import collect_testcases as collect_models
    from onnx.backend.test.case.node import collect_testcases as collect_nodes
    for case in sorted([*collect_nodes(None), *collect_models()], key=lambda case: case.name):
        if case.model is not None:
            yield case.name, case.model, case.data_sets or []


def zoo_models():
    for path in sorted((ROOT.parent / "shared/zoo/models").glob("*.onnx")):
        if path.stat().st_size <= LARGEST:
            yield path.stem, onnx.load(path, load_external_data=False), []


def values(data_sets):
    """The first few tensors and sequences of a case as protobuf bytes."""
    for inputs, outputs in data_sets[:1]:
        for value in [*inputs, *outputs][:2]:
            if isinstance(value, np.ndarray) and value.size <= 32:
                yield onnx.numpy_helper.from_array(value).SerializeToString()
            elif isinstance(value, list) and all(isinstance(item, np.ndarray) for item in value):
                yield onnx.numpy_helper.from_list(value).SerializeToString()


def write(folder, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def main():
    target = pathlib.Path(sys.argv[1])
    for index, (_, model, data_sets) in enumerate([*suite_models(), *zoo_models()]):
        data = model.SerializeToString()
        if len(data) > LARGEST:
            continue
        write(target / "model", data)
        if index % 3 == 0:  # cases of one operator differ little: what the loader and the parser read is soon all there
            write(target / "load", data)
            write(target / "text", onnx.printer.to_text(model).encode())
            for value in values(data_sets):
                write(target / "load", value)
    source = random.Random(1)
    for length in range(16, 240):
        write(target / "optimizer", source.randbytes(length))


if __name__ == "__main__":
    main()
