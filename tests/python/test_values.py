"""OrtValue, SparseTensor, devices, bindings and settings of the process, compared with ONNX Runtime if it has them."""
import logging
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx

MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }""").SerializeToString()
X = np.arange(6, dtype=np.float32).reshape(2, 3)
HOST = sardonyx.OrtDevice.make("cpu", 0)


@pytest.mark.parametrize("package", [sardonyx, onnxruntime])
def test_an_array_of_a_value_shares_its_memory(package):
    made = package.OrtValue.ortvalue_from_shape_and_type([3], np.float32)
    made.numpy()[:] = 7
    assert made.numpy().tolist() == [7, 7, 7]
    source = X.copy()
    given = package.OrtValue.ortvalue_from_numpy(source)
    source[0, 0] = 9
    assert given.numpy()[0, 0] == 9 and given.data_ptr() == source.ctypes.data


def test_an_array_outlives_its_value():
    array = sardonyx.OrtValue.ortvalue_from_numpy(X.copy()).numpy()
    assert np.array_equal(array, X)


def test_an_array_of_a_type_that_onnx_lacks_is_an_error_with_its_name():
    with pytest.raises(sardonyx.InvalidArgument, match="elements have a type in ONNX, found dtype datetime64"):
        sardonyx.OrtValue.ortvalue_from_numpy(np.array(["2020-01-01"], "datetime64[D]"))


@pytest.mark.parametrize("package", [sardonyx, onnxruntime])
@pytest.mark.parametrize("dtype", ["U2", object])
def test_texts_in_any_order_of_memory(package, dtype):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (string[N, M] x) => (string[N, M] y) { y = Identity (x) }""").SerializeToString()
    session = package.InferenceSession(model)
    texts = np.array([["a", "bc", "d"], ["", "e", "fg"], ["h", "ij", "k"]], dtype)
    for array in (texts.T, texts[::-1], texts[:, ::2], texts[1:, 1:].T, np.asfortranarray(texts)):
        assert session.run(None, {"x": array})[0].tolist() == array.tolist()


def test_types_and_sizes_are_the_peers():
    for element_type in (np.float32, np.int64, np.bool_, np.float16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT4):
        ours, theirs = (package.OrtValue.ortvalue_from_shape_and_type([2, 3], element_type)
                        for package in (sardonyx, onnxruntime))
        for member in ("shape", "data_type", "element_type", "tensor_size_in_bytes", "device_name", "is_tensor",
                       "is_sparse_tensor", "is_tensor_sequence", "has_value"):
            assert getattr(ours, member)() == getattr(theirs, member)(), (element_type, member)


@pytest.mark.parametrize("body", ["y = SequenceAt (s, i)", "t = SequenceInsert (s, x, i) y = SequenceAt (t, i)",
                                  "t = Identity (s) y = SequenceAt (t, i)"])
def test_results_do_not_change_with_the_arrays_of_a_sequence(body):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
g (seq(float[N]) s, float[N] x, int64 i) => (float[N] y) {{ {body} }}""").SerializeToString()
    array, other = np.ones(4, np.float32), np.ones(4, np.float32)
    feed = {"s": [array, array], "x": other, "i": np.array(1)}
    (result,) = sardonyx.InferenceSession(model).run(None, feed)
    array[:] = other[:] = 7
    assert result.tolist() == [1, 1, 1, 1]


def test_it_runs_where_ml_dtypes_is_not_installed():
    """ONNX Runtime does not require that package, so programs for it are installed without it."""
    program = """import sys
sys.modules["ml_dtypes"] = None
import numpy as np, sardonyx
x = np.ones((1, 3), np.float32)
print(sardonyx.InferenceSession(sys.stdin.buffer.read()).run(None, {"x": x})[0].tolist())
value = sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), 16)
try:
    value.numpy()
except ImportError as error:
    print(error)"""
    done = subprocess.run([sys.executable, "-c", program], input=MODEL, capture_output=True, timeout=60)
    lines = done.stdout.decode().splitlines()
    assert lines == ["[[-1.0, -1.0, -1.0]]", "tensor(bfloat16) needs a dtype of the package ml_dtypes, 0.5 or newer: "
                     "pip install ml_dtypes"], done.stderr.decode()


def test_ml_dtypes_is_imported_only_for_its_types():
    """Its import takes longer than a small model; arrays of its types work whoever imports it, and when."""
    program = """import sys
import numpy as np, sardonyx
session = sardonyx.InferenceSession(sys.stdin.buffer.read())
session.run(None, {"x": np.ones((1, 3), np.float32)})
print("ml_dtypes" in sys.modules)
import ml_dtypes
print(sardonyx.OrtValue.ortvalue_from_numpy(np.ones(2, ml_dtypes.int4)).data_type())"""
    done = subprocess.run([sys.executable, "-c", program], input=MODEL, capture_output=True, timeout=60)
    assert done.stdout.decode().split() == ["False", "tensor(int4)"], done.stderr.decode()


def test_onnx_types_that_numpy_lacks():
    bits = np.array([0x3F80, 0x4000], np.uint16)
    value = sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
    assert value.data_type() == "tensor(bfloat16)" and value.element_type() == onnx.TensorProto.BFLOAT16
    assert value.numpy().dtype == ml_dtypes.bfloat16 and value.numpy().tolist() == [1, 2]
    value.update_inplace(np.array([0x4040, 0x4080], np.uint16))
    assert value.numpy().tolist() == [3, 4]


def test_update_in_place():
    value = sardonyx.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    address = value.data_ptr()
    value.update_inplace(X)
    assert np.array_equal(value.numpy(), X) and value.data_ptr() == address
    value.update_inplace(sardonyx.OrtValue.ortvalue_from_numpy(X * 2))
    assert np.array_equal(value.numpy(), X * 2)
    with pytest.raises(RuntimeError, match=r"expected 24 bytes \(tensor\(float\) \[2, 3\]\), found 32"):
        value.update_inplace(np.ones((2, 4), np.float32))
    with pytest.raises(TypeError, match="numpy.ndarray or an OrtValue"):
        value.update_inplace([1, 2])


def test_copy_tensors():
    source, target = (sardonyx.OrtValue.ortvalue_from_numpy(a) for a in (X, np.zeros_like(X)))
    sardonyx.copy_tensors([source], [target])
    assert np.array_equal(target.numpy(), X)
    with pytest.raises(ValueError, match="found 0 and 1"):
        sardonyx.copy_tensors([source], [])
    with pytest.raises(sardonyx.InvalidArgument):
        sardonyx.copy_tensors([source], [sardonyx.OrtValue.ortvalue_from_numpy(np.zeros(5, np.float32))])


def test_dlpack_shares_memory_both_ways():
    value = sardonyx.OrtValue.ortvalue_from_numpy(X.copy())
    assert value.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(value)
    assert array.ctypes.data == value.data_ptr()
    again = sardonyx.OrtValue.from_dlpack(array)
    assert again.data_ptr() == value.data_ptr() and again.data_type() == "tensor(float)"
    assert sardonyx.OrtValue.from_dlpack(value.__dlpack__()).shape() == [2, 3]
    assert sardonyx.OrtValue.from_dlpack(np.array([True, False])).data_type() == "tensor(bool)"
    theirs = onnxruntime.OrtValue.from_dlpack(value)
    assert theirs.data_ptr() == value.data_ptr()
    with pytest.raises(TypeError, match="'int'"):
        sardonyx.OrtValue.from_dlpack(3)


def test_dlpack_has_bfloat16_which_numpy_lacks():
    """PyTorch exchanges it so, and NumPy's own exchange refuses it."""
    bits = np.arange(6, dtype=np.uint16).reshape(2, 3) + 16256
    value = sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
    theirs = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
    again = sardonyx.OrtValue.from_dlpack(value.to_dlpack())
    assert (again.data_type(), again.shape()) == ("tensor(bfloat16)", [2, 3])
    assert again.data_ptr() == value.data_ptr()
    address = again.data_ptr()
    del value
    assert np.array_equal(again.numpy().view(np.uint16), bits) and again.data_ptr() == address
    from_theirs = sardonyx.OrtValue.from_dlpack(theirs._ortvalue.to_dlpack())
    assert np.array_equal(from_theirs.numpy().view(np.uint16), bits)
    to_theirs = onnxruntime.capi.onnxruntime_pybind11_state.OrtValue.from_dlpack(again.to_dlpack(), False)
    assert (to_theirs.data_type(), to_theirs.shape()) == ("tensor(bfloat16)", [2, 3])
    assert to_theirs.data_ptr() == address


def test_sparse_tensors_of_coordinates():
    for indices in (np.array([1, 8]), np.array([[0, 1], [2, 2]])):
        values = np.array([1.5, 2.5], np.float32)
        ours, theirs = (package.SparseTensor.sparse_coo_from_numpy([3, 3], values, indices,
                                                                   package.OrtDevice.make("cpu", 0))
                        for package in (sardonyx, onnxruntime))
        for tensor in (ours, theirs):
            assert tensor.dense_shape() == [3, 3] and tensor.data_type() == "sparse_tensor(float)"
            assert tensor.values().tolist() == [1.5, 2.5] and tensor.device_name() == "cpu"
            assert tensor.as_coo_view().indices().tolist() == indices.tolist()
            assert tensor.format().name == "ORT_SPARSE_COO"
        value = sardonyx.OrtValue.ort_value_from_sparse_tensor(ours)
        del ours
        assert value.is_sparse_tensor() and value.shape() == [3, 3] and value.data_type() == "sparse_tensor(float)"
        assert value.as_sparse_tensor().values().tolist() == [1.5, 2.5]
    with pytest.raises(RuntimeError, match=r"expected a sparse tensor, found tensor\(float\)"):
        sardonyx.OrtValue.ortvalue_from_numpy(X).as_sparse_tensor()


def test_sparse_tensors_of_compressed_rows():
    values, inner, outer = np.array([1.5, 2.5, 3.5], np.float32), np.array([0, 2, 1]), np.array([0, 2, 2, 3])
    tensors = [package.SparseTensor.sparse_csr_from_numpy(np.array([3, 4]), values, inner, outer,
                                                          package.OrtDevice.make("cpu", 0))
               for package in (sardonyx, onnxruntime)]
    for tensor in tensors:
        assert tensor.format().name == "ORT_SPARSE_CSRC" and list(tensor.dense_shape()) == [3, 4]
        assert tensor.values().tolist() == values.tolist()
        view = tensor.as_csrc_view()
        assert (view.inner().tolist(), view.outer().tolist()) == (inner.tolist(), outer.tolist())
        for other in ("as_coo_view", "as_blocksparse_view"):
            with pytest.raises(Exception, match="."):
                getattr(tensor, other)()
    with pytest.raises(sardonyx.InvalidArgument, match="expected a column from 0 to 3, found 9"):
        sardonyx.SparseTensor.sparse_csr_from_numpy([3, 4], values, np.array([0, 9, 1]), outer, HOST)


def test_sparse_tensors_of_blocks():
    values, indices = np.arange(8, dtype=np.float32).reshape(2, 2, 2), np.array([[0, 0], [0, 1]], np.int32)
    tensor = sardonyx.SparseTensor._blocksparse_from_numpy([4, 4], values, indices, HOST)
    assert tensor.format().name == "ORT_SPARSE_BLOCK_SPARSE"
    np.testing.assert_array_equal(tensor.values(), values)
    np.testing.assert_array_equal(tensor.as_blocksparse_view().indices(), indices)


def test_devices_and_memory():
    device = sardonyx.get_ep_devices()[0]
    peer = onnxruntime.get_ep_devices()[0]
    assert device.ep_name == peer.ep_name == "CPUExecutionProvider"
    assert (device.device.type.name, device.device.vendor) == (peer.device.type.name, peer.device.vendor)
    session = sardonyx.InferenceSession(MODEL)
    for info in (*session.get_input_memory_infos(), *session.get_output_memory_infos()):
        assert (info.name, info.device_id, info.mem_type) == ("Cpu", 0, sardonyx.OrtMemType.DEFAULT)
    assert len(session.get_input_epdevices()) == 1
    cuda = sardonyx.OrtDevice.make("cuda", 0)
    assert (cuda.device_type(), cuda.device_vendor_id()) == (1, 0x10de)
    with pytest.raises(RuntimeError, match="a device of a registered provider library with .* found GPU 0 of vendor"):
        sardonyx.OrtValue.ortvalue_from_numpy(X, "cuda")
    with pytest.raises(ValueError, match="expected a device among cpu, .*, found 'stone'"):
        sardonyx.OrtDevice.make("stone", 0)
    options = sardonyx.SessionOptions()
    assert not options.has_providers()
    options.add_provider_for_devices([device], {})
    assert options.has_providers()
    assert sardonyx.InferenceSession(MODEL, options).run(None, {"x": X})[0].shape == (2, 3)


def test_runs_with_values_and_bindings():
    session = sardonyx.InferenceSession(MODEL)
    value = sardonyx.OrtValue.ortvalue_from_numpy(X)
    assert np.array_equal(session.run_with_ort_values(["y"], {"x": value})[0].numpy(), -X)
    fetches = []
    session.run_with_ortvaluevector(None, ["x"], [value], ["y"], fetches, [HOST])
    assert np.array_equal(fetches[0].numpy(), -X)
    binding, out, given = session.io_binding(), np.empty_like(X), X.copy()
    binding.bind_input("x", "cpu", 0, np.float32, given.shape, given.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    session.run_with_iobinding(binding)
    assert np.array_equal(out, -X)
    copies = binding.copy_outputs_to_cpu()
    given[0, 0] = 50
    session.run_with_iobinding(binding)
    assert out[0, 0] == -50 and binding.get_outputs()[0].numpy()[0, 0] == -50 and copies[0][0, 0] == -X[0, 0]
    with pytest.raises(ValueError, match="session that created it"):
        sardonyx.InferenceSession(MODEL).run_with_iobinding(binding)
    with pytest.raises(sardonyx.Fail, match="session.record_ep_graph_assignment_info"):
        session.get_provider_graph_assignment_info()
    options = sardonyx.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    (part,) = sardonyx.InferenceSession(MODEL, options).get_provider_graph_assignment_info()
    assert [node.op_type for node in part.get_nodes()] == ["Neg"]


def test_attributes_that_are_not_honoured_are_said(caplog):
    with caplog.at_level(logging.WARNING, "sardonyx"):
        sardonyx.SessionOptions().enable_mem_reuse = False
    (said,) = [record.getMessage() for record in caplog.records]
    assert "SessionOptions.enable_mem_reuse" in said and "not honoured" in said


def test_configuration_that_is_not_honoured_is_said_once_by_each_session(capfd):
    options, run_options = sardonyx.SessionOptions(), sardonyx.RunOptions()
    for _ in range(2):
        options.add_session_config_entry("session.no_such_key", "1")
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "0")
        run_options.add_run_config_entry("no_such_run_key", "1")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[3] x) => (float[3] y) { y = Neg (x) }""").SerializeToString()
    session = sardonyx.InferenceSession(model, options)
    for _ in range(3):
        session.run(None, {"x": np.ones(3, np.float32)}, run_options)
    said = capfd.readouterr().err
    assert said.count("'session.no_such_key' is not honoured") == 1, said
    assert said.count("'no_such_run_key' is not honoured") == 1, said
    assert "disable_cpu_ep_fallback" not in said


def test_weights_from_memory(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul (x, w) }""")
    onnx.external_data_helper.convert_model_to_external_data(model, location="w.bin", size_threshold=0)
    for tensor in model.graph.initializer:  # from float_data to the bytes that go into a file
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
        onnx.external_data_helper.set_external_data(tensor, location="w.bin")
    onnx.save(model, tmp_path / "m.onnx")
    weights = (tmp_path / "w.bin").read_bytes()
    bare = (tmp_path / "m.onnx").read_bytes()
    options = sardonyx.SessionOptions()
    options.add_external_initializers_from_files_in_memory(["w.bin"], [bytearray(weights)], [len(weights)])
    session = sardonyx.InferenceSession(bare, options)
    assert session.run(None, {"x": np.ones(3, np.float32)})[0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="'w.bin': expected 13 bytes, found 12"):
        options.add_external_initializers_from_files_in_memory(["w.bin"], [weights], [13])


def test_names_that_are_no_utf8_are_shown_and_work():
    text = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17], producer_name: "PP">
        GG (float[DD] XX) => (float[DD] YY) { YY = Neg (XX) }""").SerializeToString()
    for name in (b"XX", b"YY", b"DD", b"GG", b"PP"):
        text = text.replace(name, bytes([0xFF, name[0]]))
    session = sardonyx.InferenceSession(text)
    (x,), (y,) = session.get_inputs(), session.get_outputs()
    assert (x.name, y.name, x.shape) == (r"\xffX", r"\xffY", [r"\xffD"])
    assert str(x) == r"NodeArg(name='\xffX', type='tensor(float)', shape=['\\xffD'])"
    assert session.get_modelmeta().graph_name == r"\xffG" and session.get_modelmeta().producer_name == r"\xffP"
    assert session.run([y.name], {x.name: np.ones(2, np.float32)})[0].tolist() == [-1, -1]
    binding = session.io_binding()
    binding.bind_cpu_input(x.name, np.ones(2, np.float32))
    binding.bind_output(y.name)
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [-1, -1]
    with pytest.raises(sardonyx.InvalidArgument, match="nothere"):
        session.run(["nothere"], {x.name: np.ones(2, np.float32)})
    assert session.placement()[0]["op_type"] == "Neg"


SETTINGS = """
import sardonyx, warnings
sardonyx.set_default_logger_severity(3)  # which must not create the environment
sardonyx.set_global_thread_pool_sizes(2, 1)
options = sardonyx.SessionOptions()
options.use_per_session_threads = False
import numpy as np, onnx.parser
model = onnx.parser.parse_model('''
<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Neg(x) }''')
session = sardonyx.InferenceSession(model.SerializeToString(), options)
print(session.run(None, {"x": np.ones(3, np.float32)})[0].tolist())
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    sardonyx.set_global_thread_pool_sizes(2, 1)
print(said[0].message)
sardonyx.preload_dlls()
sardonyx.print_debug_info()
print("collective:", sardonyx.has_collective_ops())
"""


def test_settings_of_the_process():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SETTINGS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for words in ("[-1.0, -1.0, -1.0]", "before the first session is created", "providers: CPUExecutionProvider",
                  "collective: False", sardonyx.sardonyx_version):
        assert words in done.stdout, done.stdout
