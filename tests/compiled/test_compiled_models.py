"""Compiled models (.sdx) give the bits of the models that they are made from, on every CPU, however they are loaded."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

import models
import numpy as np
import pytest
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
CASES = models.cases()


def session(model, **given):
    options = sardonyx.SessionOptions()
    options.log_severity_level = 3
    for name, value in given.items():
        setattr(options, name, value)
    return sardonyx.InferenceSession(model, options)


def compiled(model, path):
    session(model, optimized_model_filepath=str(path))
    return path


def assert_same(got, want):
    assert [(a.dtype, a.shape) for a in got] == [(a.dtype, a.shape) for a in want]
    assert [a.tobytes() for a in got] == [a.tobytes() for a in want]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{case: (the model's path, the compiled model's path)}"""
    folder = tmp_path_factory.mktemp("compiled")
    made = {}
    for number, (name, (text, weights, _)) in enumerate(CASES.items()):
        model = folder / f"{number}.onnx"
        model.write_bytes(models.model(text, weights))
        made[name] = model, compiled(str(model), folder / f"{number}.sdx")
    return made


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("given", ["path", "bytes"])
def test_the_bits_are_those_of_the_model(files, name, given):
    model, path = files[name]
    feed = CASES[name][2]
    loaded = session(str(path) if given == "path" else path.read_bytes())
    assert_same(loaded.run(None, feed), session(str(model)).run(None, feed))


# Runs every case of a list on one ISA; prints the outputs as hexadecimal digits and the warnings.
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import models, sardonyx
for name, path in json.loads(sys.argv[2]):
    session = sardonyx.InferenceSession(path)
    print(json.dumps([name, [a.tobytes().hex() for a in session.run(None, models.cases()[name][2])]]))
"""


def outputs_on(isa, paths):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(ROOT / "tests/compiled"), json.dumps(paths)],
                          env=os.environ | {"SDX_MAX_ISA": isa}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


COMPILE = """
import json, sys, sardonyx
for model, path in json.loads(sys.argv[1]):
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = path
    sardonyx.InferenceSession(model, options)
"""


def isa_of(path):
    """What a compiled model's weights are packed for."""
    return re.search(rb"packer [0-9]+, ([a-z0-9]+)", path.read_bytes())[1].decode()


@pytest.mark.parametrize("isa", ["avx2", "baseline"])
def test_weights_packed_for_another_isa_are_packed_again(files, isa, tmp_path):
    """Both ways: a file of this machine's best ISA on a lesser one, and the other way round."""
    ours = [(name, str(path)) for name, (_, path) in files.items()]
    want, _ = outputs_on(isa, [(name, str(model)) for name, (model, _) in files.items()])
    got, log = outputs_on(isa, ours)
    assert got == want
    packed_again = [path for _, path in files.values() if isa_of(path) != isa]  # none: it is this machine's best
    assert log.count("are packed for (packer") == len(packed_again), log
    lesser = [(str(model), str(tmp_path / path.name)) for model, path in files.values()]
    subprocess.run([sys.executable, "-c", COMPILE, json.dumps(lesser)], env=os.environ | {"SDX_MAX_ISA": isa},
                   check=True)
    theirs = [(name, path) for name, (_, path) in zip(files, lesser, strict=True)]
    assert outputs_on(isa, theirs) == (want, "")
    own = os.environ.get("SDX_MAX_ISA", "")
    best, log = outputs_on(own, theirs)
    assert len(re.findall(rf"packed for \(packer \d+, {isa}", log)) == len(packed_again), log
    assert best == outputs_on(own, [(name, str(model)) for name, (model, _) in files.items()])[0]


HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
import models, sardonyx
session = sardonyx.InferenceSession(sys.argv[2])
session.run(None, {"x": models.uniform((1, 1024))})
print("ready", flush=True)
sys.stdin.read()
"""


def memory_of(path):
    """{kind of memory: KiB} of the file's mappings in this process."""
    sizes = {}
    for mapping in pathlib.Path("/proc/self/smaps").read_text().split(str(path))[1:]:
        for line in mapping.splitlines()[1:]:
            key, _, value = line.partition(":")
            if not value.endswith(" kB"):
                break
            sizes[key] = sizes.get(key, 0) + int(value.split()[0])
    return sizes


def test_processes_share_the_packed_weights_of_the_file(tmp_path):
    """After a run, the packed weights are in memory once, and the other half of the file is not."""
    weights = {"w": models.uniform((1024, 1024))}
    model = models.model("g (float[n,1024] x) => (float[n,1024] y) { y = MatMul (x, w) }", weights)
    path = compiled(model, tmp_path / "m.sdx")
    with open(path, "rb") as file:
        os.fsync(file.fileno())  # pages that are not on the disk yet count as dirty
    with subprocess.Popen([sys.executable, "-c", HOLD, str(ROOT / "tests/compiled"), str(path)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "ready\n"
            loaded = session(str(path))
            loaded.run(None, {"x": models.uniform((1, 1024))})
            sizes = memory_of(path)
        finally:
            other.stdin.close()
    assert 4096 <= sizes["Rss"] < 5120, sizes  # of 8 MiB
    assert sizes["Shared_Clean"] >= 4096 and sizes["Pss"] < 2600, sizes
    assert sizes["Private_Dirty"] == 0, sizes


@pytest.mark.parametrize("zeros", [False, True])
def test_scales_that_float16_holds_are_packed_in_16_bits(zeros, tmp_path):
    """So are the zero points beside them."""
    text = f"""g (float[1,1024] x) => (float[1,512] y)
        {{ y = com.microsoft.MatMulNBits <K = 1024, N = 512, bits = 4, block_size = 32> (x, w, s{", z" * zeros}) }}"""
    scales = 1 + models.uniform((512 * 32,)) / 2  # far from what is denormal in 16 bits
    weights = {"w": models.uniform((512, 32, 16), np.uint8), "s": scales}
    if zeros:
        weights["z"] = models.uniform((512 * 16,), np.uint8)
    sizes = []
    for each in (scales, scales.astype(np.float16).astype(np.float32)):
        path = tmp_path / f"{len(sizes)}.onnx"
        path.write_bytes(models.model(text, weights | {"s": each}))
        sizes.append(compiled(str(path), tmp_path / f"{len(sizes)}.sdx").stat().st_size)
    assert sizes[0] - sizes[1] == 512 * 32 * (4 if zeros else 2)


def test_a_damaged_file_is_refused(files, tmp_path):
    whole = files["Gemm"][1].read_bytes()
    damaged = tmp_path / "damaged.sdx"
    for size in [8, 9, 64, 127, 128, len(whole) // 2, len(whole) - 1]:
        damaged.write_bytes(whole[:size])
        with pytest.raises(Exception, match="damaged.sdx: the compiled model is damaged: expected"):
            session(str(damaged))
    # A checksum protects everything but the weights: the header, and what begins where its fourth number says.
    (model_at,) = struct.unpack_from("<Q", whole, 24)
    for at in [*range(8, 128, 5), *range(model_at, len(whole), 11)]:
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1:])
        with pytest.raises(Exception, match=r"damaged\.sdx"):
            session(str(damaged))
    for at in range(128, model_at, 501):  # loads, whatever it computes
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1:])
        session(str(damaged)).run(None, CASES["Gemm"][2])


def test_a_newer_format_is_refused(files, tmp_path):
    whole = bytearray(files["Gemm"][1].read_bytes())
    whole[8] = 2
    path = tmp_path / "new.sdx"
    path.write_bytes(whole)
    with pytest.raises(Exception, match="expected a compiled model of format 1, found format 2: compile the model"):
        session(str(path))


def test_a_fixed_dimension_packs_again_what_depends_on_it(files):
    """Winograd's weights are chosen by the size of the image."""
    model, path = files["Conv"]
    feed = {"x": models.uniform((1, 16, 64, 64))}
    results = []
    for each in (model, path):
        options = sardonyx.SessionOptions()
        options.add_free_dimension_override_by_name("h", 64)
        options.add_free_dimension_override_by_name("n", 1)
        results.append(sardonyx.InferenceSession(str(each), options).run(None, feed))
    assert_same(results[1], results[0])


def test_weights_cannot_be_replaced(files):
    options = sardonyx.SessionOptions()
    options.add_initializer("w", sardonyx.OrtValue.ortvalue_from_numpy(np.zeros((64, 48), np.float32)))
    with pytest.raises(Exception, match="initializer 'w': expected a model whose weights may be replaced"):
        sardonyx.InferenceSession(str(files["MatMul"][1]), options)


def test_the_format_is_chosen_by_name_or_by_entry(tmp_path, files):
    model = str(files["MatMul"][0])
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "any.bin")
    options.add_session_config_entry("session.save_model_format", "SDX")
    sardonyx.InferenceSession(model, options)
    assert (tmp_path / "any.bin").read_bytes().startswith(b"SDXMODEL")
    options.optimized_model_filepath = str(tmp_path / "any.sdx")
    options.add_session_config_entry("session.save_model_format", "ONNX")
    sardonyx.InferenceSession(model, options)
    assert not (tmp_path / "any.sdx").read_bytes().startswith(b"SDXMODEL")
    options.add_session_config_entry("session.save_model_format", "onnx")
    with pytest.raises(Exception, match="session.save_model_format: expected ONNX, ORT or SDX, found 'onnx'"):
        sardonyx.InferenceSession(model, options)


def test_a_compiled_model_can_be_optimized_and_compiled_again(files, tmp_path):
    model, path = files["Conv"]
    feed = CASES["Conv"][2]
    again = compiled(str(path), tmp_path / "again.sdx")
    assert again.read_bytes() == path.read_bytes()
    session(str(path), optimized_model_filepath=str(tmp_path / "back.onnx"))
    assert_same(session(str(tmp_path / "back.onnx")).run(None, feed), session(str(model)).run(None, feed))


def test_inner_values_can_be_computed(tmp_path):
    """A second session is built from the compiled model, with the value as an output."""
    model = models.model("g (float[n,64] x) => (float[n,64] y) { a = MatMul (x, w) b = Softmax (a) y = MatMul (b, w) }",
                         {"w": models.uniform((64, 64))})
    feed = {"x": models.uniform((3, 64))}
    loaded = session(str(compiled(model, tmp_path / "m.sdx")))
    assert_same(loaded.run(["y", "b", "a"], feed), session(model).run(["y", "b", "a"], feed))
    with pytest.raises(Exception, match="'c'"):
        loaded.run(["c"], feed)


def test_custom_operators_stay_custom(tmp_path):
    def options():
        made = sardonyx.SessionOptions()
        made.register_custom_ops_library(str(BUILD / "lib/libcustom_ops.so"))
        return made

    model = models.model("""g (float[n,64] x) => (float[n,64] y)
        { a = test.custom.AddAmount <amount = 2.5> (x) b = MatMul (a, w) y = test.custom.Twice (b) }""",
                         {"w": models.uniform((64, 64))}, {"test.custom": 1})
    feed, saving = {"x": models.uniform((3, 64))}, options()
    saving.optimized_model_filepath = str(tmp_path / "m.sdx")
    want = sardonyx.InferenceSession(model, saving).run(None, feed)
    assert_same(sardonyx.InferenceSession(str(tmp_path / "m.sdx"), options()).run(None, feed), want)
    with pytest.raises(Exception, match="unknown operator test.custom.AddAmount"):
        session(str(tmp_path / "m.sdx"))


def test_a_declared_scalar_stays_one(tmp_path):
    """Sessions of other models are prepared again for other shapes, from the model before its passes."""
    model = models.model("g (float x) => (int64[k] y) { y = Shape (x) }", {})
    vector = {"x": np.zeros(3, np.float32)}
    assert session(model).run(None, vector)[0].tolist() == [3]
    loaded = session(str(compiled(model, tmp_path / "m.sdx")))
    assert loaded.run(None, {"x": np.float32(1)})[0].tolist() == []
    with pytest.raises(Exception, match=r"input 'x': expected float, found float\[3\]: the model was compiled for"):
        loaded.run(None, vector)
