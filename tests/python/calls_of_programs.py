"""Calls that released programs make of the package `onnxruntime`. Run as a program, it writes what each gives in the
package that is on its path, as JSON, to the file that its argument names."""
import copy  # noqa: F401  (the calls use it)
import io  # noqa: F401
import json
import os
import pathlib
import pickle  # noqa: F401
import sys
import tempfile
import threading
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

HEAD = '<ir_version: 8, opset_import: ["" : 17]'
MODEL = onnx.parser.parse_model(HEAD + ''', producer_name: "maker", model_version: 7, domain: "dom",
    doc_string: "words", metadata_props: ["names": "{0: 'a'}", "stride": "32"]>
    g (float[batch, 3] x, float[1] s) => (float[batch, 3] y, float[batch, 3] z) { y = Mul (x, s) z = Neg (y) }''')
data = MODEL.SerializeToString()
x, s = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(1, np.float32)
feed = {"x": x, "s": s}
CPU = ["CPUExecutionProvider"]
state, collection = ort.capi.onnxruntime_pybind11_state, ort.capi.onnxruntime_inference_collection
level = ort.GraphOptimizationLevel


def session(model=data, *, options=None, **others):
    return ort.InferenceSession(model, options, CPU, **others)


def of(text):
    """A session on the graph of this text."""
    return session(onnx.parser.parse_model(f"{HEAD}> g {text}").SerializeToString())


def options(**values):
    made = ort.SessionOptions()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def run_options(**values):
    made = ort.RunOptions()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def coo(values):
    return ort.SparseTensor.sparse_coo_from_numpy(np.array([3, 2]), values, np.array([0, 3]),
                                                  ort.OrtDevice.make("cpu", 0))


def csr(values):
    return ort.SparseTensor.sparse_csr_from_numpy(np.array([3, 2]), values, np.array([0, 1]), np.array([0, 1, 2, 2]),
                                                  ort.OrtDevice.make("cpu", 0))


def reflected(before, behind):
    made = of("(float[N] x) => (float[M] y) <int64[2] p = {%d, %d}> { y = Pad<mode = 'reflect'>(x, p) }".replace(
        "'", '"') % (before, behind))
    return made.run(None, {"x": np.arange(3, dtype=np.float32)})[0].tolist()


def properties(thing):
    return {name: str(getattr(thing, name)) for name in dir(thing)
            if name[0] != "_" and not callable(getattr(thing, name))}


def value(array):
    return ort.OrtValue.ortvalue_from_numpy(array)


def bound(*calls, run=None):
    """What a binding gives after these calls: (method, arguments...)."""
    binding = sess.io_binding()
    for method, *arguments in calls:
        getattr(binding, method)(*arguments)
    (run or sess.run_with_iobinding)(binding)
    return [array.tolist() for array in binding.copy_outputs_to_cpu()]


def in_background(inputs):
    told, over = [], threading.Event()
    sess.run_async(["y"], inputs, lambda result, user, error: (told.append((result, user, error)), over.set()), "user")
    over.wait(60)
    return [(result[0].tolist(), user, error) for result, user, error in told]


def then(thing, attribute, new):
    setattr(thing, attribute, new)
    return getattr(thing, attribute)


sess = session()
INPUTS = [("bind_cpu_input", "x", x), ("bind_cpu_input", "s", s)]
NEG, SAME = "{ y = Neg (x) }", "{ y = Identity (x) }"
CALLS = [
    # What a session says of itself, with names that have no promise.
    "[a.tolist() for a in sess._sess.run(['y'], feed, None)]",
    "[(v.numpy().tolist(), isinstance(v, ort.capi._pybind_state.OrtValue)) for v in sess._sess.run_with_ort_values("
    "{n: ort.OrtValue.ortvalue_from_numpy(a)._get_c_value() for n, a in feed.items()}, ['y'], None)]",
    "[(v.name, v.type, v.shape) for v in sess._sess.inputs_meta]",
    "[(v.name, v.type, v.shape) for v in sess._sess.outputs_meta]",
    "sess._sess.model_meta.producer_name", "[v.name for v in sess._inputs_meta + sess._outputs_meta]",
    "(sess._model_path, sess._model_bytes == data, session('m.onnx')._model_path, session('m.onnx')._model_bytes)",
    "(sess._providers, sess._provider_options, sess._sess_options_initial, type(sess._sess_options).__name__)",
    "(sess._enable_fallback, sess._fallback_providers, session(enable_fallback=0)._enable_fallback)",
    "(sess.disable_fallback(), sess._enable_fallback, sess.enable_fallback(), sess._enable_fallback)",
    "(sess.get_providers(), sess.get_provider_options(), [v.name for v in sess.get_overridable_initializers()])",
    "dict(sorted(sess.get_modelmeta().custom_metadata_map.items()))", "str(sess.get_inputs()[0])",
    "[n for n in dir(sess.get_inputs()[0]) if n[0] != '_']", "sess.end_profiling()", "sess.get_tuning_results()",
    "[c.__name__ for c in (ort.NodeArg, ort.ModelMetadata, ort.IOBinding, ort.SessionIOBinding)]",
    "(isinstance(sess, collection.Session), isinstance(hash(sess), int), then(sess, 'my_attribute', 3))",
    "type('Sub', (ort.InferenceSession,), {})(data, providers=CPU).run(['y'], feed)[0].tolist()",
    "(copy.copy(sess).run(['y'], feed)[0].tolist(), type(copy.copy(sess)).__name__)",
    # Providers. A list that is none falls back to the CPU.
    "ort.InferenceSession(data, providers=[('CPUExecutionProvider', {'use_arena': 0})]).get_providers()",
    "ort.InferenceSession(data, providers=CPU, provider_options=[{}]).get_provider_options()",
    "ort.InferenceSession(data, providers=[]).get_providers()", "ort.InferenceSession(data).get_providers()",
    "ort.InferenceSession(data, providers=[('CUDAExecutionProvider', {'device_id': 0}), *CPU]).get_providers()",
    "ort.InferenceSession(data, providers=['TensorrtExecutionProvider']).get_providers()",
    "ort.InferenceSession(data, providers=CPU, provider_options=[{}, {}]).get_providers()",
    "ort.InferenceSession(data, providers=CPU, provider_options=[{}, {}])._enable_fallback",
    "ort.InferenceSession(data, providers=CPU, provider_options={})._enable_fallback",
    "ort.InferenceSession(data, providers=[('CPUExecutionProvider', {})], provider_options=[{}]).get_providers()",
    "ort.InferenceSession(data, providers=[3]).get_providers()",
    "ort.InferenceSession(data, providers=[3], enable_fallback=0)", "sess.set_providers(CPU, [{}])",
    "collection.check_and_normalize_provider_args([('CPUExecutionProvider', {'a': 1})], None, CPU)",
    "(ort.get_device(), set(ort.get_available_providers()) <= set(ort.get_all_providers()), ort.get_all_providers())",
    # Models.
    "session(bytearray(data))", "session(memoryview(data))", "session(io.BytesIO(data))", "session(MODEL)",
    "session(None)", "session(b'')", "session(b'garbage here')", "session(data[:-20])", "session(b'm.onnx')",
    "session('none.onnx')", "session('bad.onnx')", "session('lfs.onnx')", "session(pathlib.Path('m.onnx'))._model_path",
    "of('(float[2] x) => (float[2] y) { y = Nonsense (x) }')", "of('(string[2] x) => (string[2] y) ' + NEG)",
    "session(disabled_optimizers=['ConstantFolding']).get_providers()", "session(nonsense=1).get_providers()",
    "session(options={})",
    # Runs.
    "[a.tolist() for a in sess.run(None, feed)]", "[a.tolist() for a in sess.run([], feed)]",
    "[a.tolist() for a in sess.run(output_names=('z',), input_feed=feed, run_options=None)]",
    "[a.tolist() for a in sess.run(['z', 'z'], feed)]", "[a.tolist() for a in sess.run(['z', 'y', 'z', 'y'], feed)]",
    "[v.numpy().tolist() for v in sess.run_with_ort_values(['y', 'y'], {'x': value(x), 's': value(s)})]",
    "sess.run('y', feed)", "sess.run(None, feed, 3)", "sess.io_binding().bind_output('q')",
    "sess.io_binding().bind_ortvalue_input('q', value(x))", "sess.io_binding().bind_cpu_input('x', [1.0, 2.0])",
    "sess.run(['q'], feed)", "[a.tolist() for a in sess.run([b'y'], feed)]", "sess.run(None, {'x': x})",
    "sess.run(None, {})", "sess.run(None, feed | {'q': x})",
    "sess.run(None, {'x': x.astype(np.float64), 's': s})", "sess.run(None, {'x': x.astype(np.int64), 's': s})",
    "sess.run(None, {'x': x[0], 's': s})", "sess.run(None, {'x': x[:, :2], 's': s})", "sess.run(None, [x, s])",
    "sess.run(None, {0: x, 's': s})", "[a.tolist() for a in sess.run(None, {'x': x.tolist(), 's': [1.0]})]",
    "[a.tolist() for a in sess.run(None, {'x': np.asfortranarray(x), 's': s})]",
    "[a.tolist() for a in sess.run(None, {'x': x[::-1], 's': s})]",
    "[a.shape for a in sess.run(None, {'x': np.zeros((0, 3), np.float32), 's': s})]",
    "[a.tolist() for a in sess.run(None, {'x': value(x), 's': s}, ort.RunOptions())]",
    "sess.run(None, feed)[0].flags.writeable", "(in_background(feed), type(sess.run(None, feed)).__name__)",
    "in_background({'x': x})", "then(ort.RunOptions(), 'terminate', True)",
    "ort.RunOptions().get_run_config_entry('z')", "properties(ort.RunOptions())", "then(ort.RunOptions(), 'mine', 3)",
    # Bindings and values.
    "bound(*INPUTS, ('bind_output', 'y'), ('bind_output', 'z', 'cpu', 0))",
    "bound(*INPUTS, ('bind_output', 'y'), run=lambda b: sess._sess.run_with_iobinding(b._iobinding, None))",
    "bound(INPUTS[1], ('bind_input', 'x', 'cpu', 0, np.float32, x.shape, x.ctypes.data), ('bind_output', 'y'))",
    "bound(INPUTS[1], ('bind_input', 'x', 'cpu', 0, onnx.TensorProto.FLOAT, [2, 3], x.ctypes.data),"
    " ('bind_ortvalue_output', 'y', value(np.zeros((2, 3), np.float32))))",
    "(value(x).shape(), value(x).data_type(), value(x).element_type(), value(x).device_name(), value(x).has_value())",
    "(value(x).is_tensor(), value(x).is_sparse_tensor(), value(x).data_ptr() == x.ctypes.data)",
    "ort.OrtValue.ortvalue_from_shape_and_type([2, 3], onnx.TensorProto.FLOAT16, 'cpu', 0).data_type()",
    "ort.OrtValue.ortvalue_from_numpy(x, 'cpu', 0)._ortvalue.__dlpack_device__()", "value(x)._get_c_value().shape()",
    "value(x.copy()).update_inplace(x[:1])", "np.from_dlpack(value(x)._ortvalue).tolist()",
    # Options.
    "properties(ort.SessionOptions())", "then(options(), 'intra_op_num_threads', np.int64(2))",
    "then(options(), 'intra_op_num_threads', '2')", "then(options(), 'intra_op_num_threads', 2.0)",
    "then(options(), 'intra_op_num_threads', None)", "then(options(), 'enable_mem_pattern', 0)",
    "then(options(), 'enable_cpu_mem_arena', np.bool_(False))", "then(options(), 'enable_mem_pattern', 'no')",
    "then(options(), 'use_deterministic', True)", "options().get_session_config_entry('nothing')",
    "options(use_deterministic_compute=True).get_session_config_entry('session.use_deterministic_compute')",
    "options().add_session_config_entry('session.intra_op.allow_spinning', 0)",
    "session(options=options(intra_op_num_threads=-1, logid='me', log_severity_level=4)).get_providers()",
    "options().register_custom_ops_library('/no/such/lib.so')", "options().has_providers()",
    "ort.set_default_logger_severity(9)", "(ort.set_default_logger_severity(3), ort.set_default_logger_verbosity(0))",
    # Enumerations, classes and exceptions.
    "pickle.loads(pickle.dumps(level.ORT_ENABLE_ALL)) == level.ORT_ENABLE_ALL", "level(99)", "level(1).name",
    "(repr(level.ORT_ENABLE_ALL), str(level.ORT_ENABLE_ALL), int(level.ORT_ENABLE_ALL), level.ORT_ENABLE_ALL == 99)",
    "(list(level.__members__), list(ort.ExecutionMode.__members__), copy.deepcopy(ort.ExecutionMode.ORT_PARALLEL))",
    "pickle.dumps(sess.get_inputs()[0])", "copy.deepcopy(ort.RunOptions())",
    "[c.__name__ for c in state.NoSuchFile.__mro__]",
    "[getattr(state, n).__module__ for n in ('NoSuchFile', 'Fail', 'SessionOptions', 'RunOptions', 'NodeArg')]",
    "[getattr(state, n).__module__ for n in ('ModelMetadata', 'InvalidGraph', 'OrtMemoryInfo', 'SessionIOBinding')]",
    # Types of inputs and outputs.
    "[(v.shape, v.type) for v in of('(float[?, 3, N] x, float[] q) => (float[?, ?, ?] y) ' + NEG).get_inputs()]",
    "of('(float16[N] x) => (float16[N] y) ' + NEG).run(None, {'x': np.ones(2, np.float16)})[0].dtype.str",
    "of('(int64[N] x) => (int64[N] y) ' + NEG).run(None, {'x': [1, 2]})[0].tolist()",
    "of('(int64[N] x) => (int64[N] y) ' + NEG).run(None, {'x': np.array([1, 2], np.longlong)})[0].tolist()",
    "of('(int64[N] x) => (int64[N] y) ' + NEG).run(None, {'x': np.array([1, 2], np.int32)})",
    "of('(bool[N] x) => (bool[N] y) { y = Not (x) }').run(None, {'x': [True, False]})[0].tolist()",
    "of('(string[N] x) => (string[N] y) ' + SAME).run(None, {'x': ['a', 'ö']})[0].tolist()",
    "of('(string[N] x) => (string[N] y) ' + SAME).run(None, {'x': np.array(['a', 'bc'])})[0].dtype.str",
    "of('(string[N] x) => (string[N] y) ' + SAME).run(None, {'x': np.array([1, None], object)})[0].tolist()",
    "of('(float[N] x) => (optional(float[N]) y) { y = Optional (x) }').get_outputs()[0].type",
    "of('(float[N] x) => (seq(float[1]) y) { y = SequenceConstruct (x, x) }').run(None, {'x': s})",
]
# Mistakes, which programs tell apart by the class of the exception.
CALLS += [
    "session('folder')", "session('empty.onnx')", "session(b'')", "session(b'junk')", "session(data[:-9])",
    "session('broken.ort')", "session(broken)", "session(broken[:12])",
    "session(options=entry('session.load_model_format', 'ORT'))",
    "session(options=entry('session.load_model_format', 'anything'))",
    "session(changed(ir_version=0))", "session(changed(opset_import=[]))", "session(changed(graph=onnx.GraphProto()))",
    "session(with_node('Relu', ['y'], ['y']))", "session(with_nodes(('Relu', ['a'], ['b']), ('Relu', ['b'], ['a'])))",
    "session(with_node('Relu', ['nothing'], ['w']))", "session(with_output('nothing'))",
    "of('(float[N] x) => (int64[N] y) ' + NEG)",
    "session(options=entry('', '1'))", "entry('k' * 1025, '1')", "entry('k', 'v' * 5000) is None", "entry(3, '1')",
    "ort.RunOptions().add_run_config_entry('', '1')", "ort.RunOptions().add_run_config_entry('k' * 1025, '1')",
    "twice(options(), 'add_initializer', 'w', value(s))", "initialized('nothing', value(s)).get_providers()",
    "options().add_external_initializers(['w'], [])",
    "session(options=with_external(['nothing'], [value(s)]))",
    "sess.run(None, {'x': 'text', 's': s})", "sess.run(None, {'x': x.astype(np.complex64), 's': s})",
    "sess.run(None, {'x': np.array([['a', 'b', 'c']]), 's': s})", "sess.run([1], feed)",
    "ort.OrtValue(3)", "value(x).as_sparse_tensor()", "ort.OrtValue.ortvalue_from_shape_and_type([-1], np.float32)",
    "ort.OrtValue.ortvalue_from_shape_and_type([1], 'nonsense')", "ort.OrtValue.ortvalue_from_shape_and_type([1], 999)",
    "ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x, 999)", "ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x, 7)",
    "sess.io_binding().bind_input('x', 'cpu', 0, 'nonsense', [1], 0)",
    "ort.OrtArenaCfg({'nonsense': 1})", "ort.OrtArenaCfg({'max_mem': 'a'})",
    "ort.set_default_logger_verbosity('a')", "ort.set_seed('a')",
    "ort.LoraAdapter().Load('nothing')", "ort.LoraAdapter().Load('bad.onnx')",
    "ort.AdapterFormat.read_adapter('nothing')",
    "ort.AdapterFormat.read_adapter('bad.onnx')", "ort.AdapterFormat().export_adapter('no/folder')",
    "options().set_provider_selection_policy_delegate(3)",
    "[info.allocator_type.name for info in sess.get_input_memory_infos() + sess.get_output_memory_infos()]",
    "session(options=options(enable_cpu_mem_arena=False)).get_input_memory_infos()[0].allocator_type.name",
    "of('() => (float[1] y) { c = Constant<value_floats = [2.0], note = 1>() y = Neg(c) }').run(None, {})[0].tolist()",
    "of('(float[N] x) => (float[N] y) { y = Relu<note = 1>(x) }')",
    # Options with odd values.
    "ort.RunOptions().add_active_adapter('x')", "ort.RunOptions().add_active_adapter(5)",
    "options().add_provider('nothing', {})", "options().add_provider('', {})", "options().add_provider('cpu', {})",
    "options().add_provider('CUDA', {})", "options().add_provider('CUDAExecutionProvider', {})",
    "options().add_provider('CPUExecutionProvider', {})", "options().add_provider(None, {})",
    "session(options=options(optimized_model_filepath='no/folder/m.onnx'))",
    "session(options=options(optimized_model_filepath='\\0a'))",
    "session(options=options(log_verbosity_level=-1))", "options(log_verbosity_level=2**31)",
    "session(options=options(intra_op_num_threads=-5, inter_op_num_threads=-1)).run(None, feed)[0].tolist()",
    "session(options=entry('optimization.minimal_build_optimizations', 'save'))",
    "session(options=entry('optimization.minimal_build_optimizations', 'apply'))",
    "session(options=entry('session.graph_optimizations_loop_level', 'x'))",
    "sess.run(None, feed, run_options(log_severity_level=-9))",
    "sess.run(None, feed, run_options(log_severity_level=5))",
    "sess.run(['y'], feed, run_options(log_severity_level=-1, log_verbosity_level=-1))[0].tolist()",
    "coo(np.array(['a', 'bé'])).values().tolist()", "coo(np.array(['a', 'b'])).data_type()",
    "coo(np.array(['a', 'b'])).as_coo_view().indices().tolist()", "coo(np.array(['a', 'b'], object))",
    "csr(np.array(['a', 'b'])).values().tolist()", "csr(np.array(['a', 'b'], object))",
    "csr(np.array(['a', 'b'])).as_csrc_view().outer().tolist()",
    "[reflected(*pads) for pads in ((0, 2), (2, 0), (-1, 1), (1, -1), (-2, 0))]",
    "reflected(3, 0)", "reflected(0, 3)", "reflected(-1, 2)", "reflected(-2, 1)",
    "ort.set_global_thread_pool_sizes(2, 1)", "ort.RunOptions().add_active_adapter(ort.LoraAdapter())",
]
MISTAKES = pathlib.Path(__file__).resolve().parents[2] / "tools/python_mistakes.tsv"
broken = b"\x10\0\0\0ORTM" + bytes(40)


def entry(key, text, **values):
    made = options(log_severity_level=4, **values)
    made.add_session_config_entry(key, text)
    return made


def overridden(name, number):
    made = options(log_severity_level=4)
    made.add_free_dimension_override_by_name(name, number)
    return made


def changed(**fields):
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    for name, field in fields.items():
        if isinstance(field, int):
            setattr(model, name, field)
        else:
            model.ClearField(name)
    return model.SerializeToString()


def with_nodes(*nodes):
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    for operator, inputs, outputs in nodes:
        model.graph.node.add(op_type=operator, input=inputs, output=outputs)
    return model.SerializeToString()


def with_node(*node):
    return with_nodes(node)


def with_output(name):
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    model.graph.output[0].name = name
    return model.SerializeToString()


def twice(thing, method, *arguments):
    for _ in range(2):
        getattr(thing, method)(*arguments)


def initialized(name, given):
    made = options(log_severity_level=4)
    made.add_initializer(name, given)
    return session(options=made)


def with_external(names, values):
    made = options(log_severity_level=4)
    made.add_external_initializers(names, values)
    return made


def outcome(call):
    """What a call gives: a text of the value, or the class of the exception."""
    try:
        result = eval(call)
    except Exception as error:
        return f"raises {type(error).__name__}"
    return f"gives {type(result).__name__}" if isinstance(result, ort.InferenceSession) else f"gives {result!r}"


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).resolve()
    warnings.simplefilter("ignore")
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("m.onnx").write_bytes(data)
        pathlib.Path("folder").mkdir()
        pathlib.Path("empty.onnx").touch()
        pathlib.Path("broken.ort").write_bytes(broken)
        pathlib.Path("bad.onnx").write_text("not a model at all")
        pathlib.Path("lfs.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n")
        rows = [line.split("\t") for line in MISTAKES.read_text().splitlines()[1:]]
        mistakes = [outcome(call) for call, *_ in rows]  # first: calls below change settings of the process
        target.write_text(json.dumps({"package": ort.__file__, "outcomes": [[call, outcome(call)] for call in CALLS],
                                      "mistakes": mistakes}))
