"""A real model with weights in another file, and one defect in what it says about that file.

To add a defect, write a function with @file. It gets the model's folder and the weights, and returns the entries of
external_data, the error code and the words of the error.
"""
import os

import onnx
import pytest
import real_models
import test_bad_models
from onnx import TensorProto

WEIGHT = "stft.forward_basis_buffer"
FILES = {}


def file(function):
    FILES[function.__name__.replace("_", " ")] = function
    return function


def save(folder, entries):
    model = onnx.load(real_models.PATHS["voice"]())
    tensor = real_models.weight(model, WEIGHT)
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries, *expected = entries(folder, data)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path, expected


@file
def one_folder_up(folder, data):
    (folder.parent / "w.bin").write_bytes(data)
    return {"location": "../w.bin"}, "Fail", ["inside the model's folder", "a '..' in", "'../w.bin'"]


@file
def a_step_up_further_in(folder, data):
    (folder / "sub").mkdir()
    (folder.parent / "w.bin").write_bytes(data)
    return {"location": "sub/../../w.bin"}, "Fail", ["inside the model's folder", "'..' in", "sub/../../w.bin"]


@file
def an_absolute_path(folder, data):
    (folder / "w.bin").write_bytes(data)
    return {"location": folder / "w.bin"}, "Fail", ["inside the model's folder", "absolute", str(folder)]


@file
def a_drive(folder, data):
    return {"location": "C:w.bin"}, "Fail", ["inside the model's folder", "drive", "'C:w.bin'"]


@file
def a_path_of_the_network(folder, data):
    return {"location": "\\\\server\\share\\w.bin"}, "Fail", ["absolute", "server"]


@file
def a_link_out_of_the_folder(folder, data):
    (folder.parent / "w.bin").write_bytes(data)
    (folder / "w.bin").symlink_to(folder.parent / "w.bin")
    return {"location": "w.bin"}, "Fail", ["inside the model's folder", "link from 'w.bin'",
                                                      str(folder.parent / "w.bin")]


@file
def a_folder_that_is_a_link(folder, data):
    (folder.parent / "away").mkdir()
    (folder.parent / "away/w.bin").write_bytes(data)
    (folder / "sub").symlink_to(folder.parent / "away")
    return {"location": "sub/w.bin"}, "Fail", ["link from 'sub/w.bin'", str(folder.parent / "away/w.bin")]


@file
def blobs_that_the_model_is_no_link_into(folder, data):
    (folder.parent / "blobs").mkdir()
    (folder.parent / "blobs/w").write_bytes(data)
    (folder / "w.bin").symlink_to("../blobs/w")
    return {"location": "w.bin"}, "Fail", ["link from 'w.bin'", str(folder.parent / "blobs/w")]


@file
def a_link_to_a_device_without_an_end(folder, data):
    (folder / "w.bin").symlink_to("/dev/zero")
    return {"location": "w.bin"}, "Fail", ["link from 'w.bin'", "/dev/zero"]


@file
def a_link_to_itself(folder, data):
    (folder / "w.bin").symlink_to("w.bin")
    return {"location": "w.bin"}, "Fail", ["w.bin", "levels of symbolic links"]


@file
def a_pipe_that_nobody_writes_to(folder, data):
    os.mkfifo(folder / "w.bin")
    return {"location": "w.bin"}, "Fail", ["w.bin", "expected a regular file"]


@file
def a_folder(folder, data):
    (folder / "w.bin").mkdir()
    return {"location": "w.bin"}, "Fail", ["w.bin", "expected a regular file", "folder"]


@file
def a_file_that_is_not_there(folder, data):
    return {"location": "w.bin"}, "Fail", ["w.bin", "No such file"]


@file
def no_location(folder, data):
    return {"offset": 0}, "Fail", ["location", "empty"]


@file
def an_address_in_memory(folder, data):
    """What ONNX Runtime writes for itself; a file must not be able to."""
    return {"location": "*/_ORT_MEM_ADDR_/*", "offset": 4096, "length": len(data)}, "Fail", ["_ORT_MEM_ADDR_"]


@file
def a_file_cut_short(folder, data):
    (folder / "w.bin").write_bytes(data[:-1])
    return {"location": "w.bin"}, "Fail", [WEIGHT, f"expected {len(data)} bytes",
                                                   f"found a file of {len(data) - 1}"]


@file
def an_offset_beyond_the_end(folder, data):
    (folder / "w.bin").write_bytes(data)
    return {"location": "w.bin", "offset": len(data)}, "Fail", [WEIGHT, f"at offset {len(data)}",
                                                                       f"found a file of {len(data)}"]


@file
def an_offset_that_wraps_around(folder, data):
    (folder / "w.bin").write_bytes(data)
    offset = 2**64 - len(data)
    return {"location": "w.bin", "offset": offset}, "Fail", [WEIGHT, f"at offset {offset}",
                                                                    f"found a file of {len(data)}"]


@file
def an_offset_below_zero(folder, data):
    (folder / "w.bin").write_bytes(data)
    return {"location": "w.bin", "offset": -4}, "Fail", [WEIGHT, "'offset'", "found '-4'"]


@file
def a_length_that_is_not_the_shapes(folder, data):
    (folder / "w.bin").write_bytes(data)
    return {"location": "w.bin", "length": len(data) - 4}, "Fail", [WEIGHT, f"expected {len(data)} bytes",
                                                                           f"found {len(data) - 4}"]


@file
def a_length_beyond_all_numbers(folder, data):
    (folder / "w.bin").write_bytes(data)
    return {"location": "w.bin", "length": 10**30}, "Fail", [WEIGHT, "'length'", str(10**30)]


@pytest.mark.parametrize("name", FILES)
def test_a_file(name, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    path, (code, words) = save(folder, FILES[name])
    test_bad_models.check(code, words, test_bad_models.error_of(str(path), None))


@pytest.mark.parametrize("name", FILES)
def test_a_model_from_bytes_names_no_files(name, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    path, _ = save(folder, FILES[name])
    kind, message = test_bad_models.error_of(path.read_bytes(), None)
    assert kind == "Fail" and WEIGHT in message, message


def fine(folder, data):
    (folder / "w.bin").write_bytes(b"1234" + data)
    return {"location": "./w.bin", "offset": 4, "length": len(data), "checksum": "of nobody"}, "", []


def test_a_file_as_it_should_be(tmp_path):
    path, _ = save(tmp_path, fine)
    assert test_bad_models.error_of(str(path), None) == ("", "no error")


def test_a_cache_of_links(tmp_path):
    """What hub clients keep: snapshots of links into blobs."""
    for name in ("blobs", "snapshots/1"):
        (tmp_path / name).mkdir(parents=True)
    path, _ = save(tmp_path / "blobs", fine)
    path.rename(tmp_path / "blobs/aa")
    (tmp_path / "blobs/w.bin").rename(tmp_path / "blobs/bb")
    (tmp_path / "snapshots/1/model.onnx").symlink_to("../../blobs/aa")
    (tmp_path / "snapshots/1/w.bin").symlink_to("../../blobs/bb")
    assert test_bad_models.error_of(str(tmp_path / "snapshots/1/model.onnx"), None) == ("", "no error")
