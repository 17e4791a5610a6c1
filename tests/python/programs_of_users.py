"""Small programs as users of the package `onnxruntime` write them. Run as a program, it writes what each prints with
the package that is on its path, as JSON, to the file that its argument names."""
import concurrent.futures
import contextlib
import copy
import gc
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import sys
import tempfile
import threading
import time
import warnings
import weakref

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
import onnx.parser
import onnxruntime as rt
import onnxruntime.backend as backend
from onnx import TensorProto as T

CPU = ["CPUExecutionProvider"]
HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]'
PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def parsed(text, more=""):
    return onnx.parser.parse_model(f"{HEAD}{more}> g {text}")


def open_model(text, options=None):
    return rt.InferenceSession(parsed(text).SerializeToString(), options, providers=CPU)


def made(nodes, inputs, outputs, opset=21):
    graph = h.make_graph(nodes, "g", inputs, outputs)
    imports = [h.make_opsetid("", opset), h.make_opsetid("ai.onnx.ml", 3)]
    model = h.make_model(graph, ir_version=10, opset_imports=imports)
    return rt.InferenceSession(model.SerializeToString(), providers=CPU)


def attempt(call, *arguments):
    """What a call gives, or the class of what it raises."""
    try:
        print("gives", call(*arguments))
    except Exception as error:
        print("raises", type(error).__name__)


def told(value):
    return (value.dtype.str, value.shape, value.tolist()) if isinstance(value, np.ndarray) else value


LINEAR = "(float[batch, 3] x) => (float[batch, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul (x, w) }"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@program
def session_of_a_path_without_providers():
    onnx.save(parsed(LINEAR), "linear.onnx")
    sess = rt.InferenceSession("linear.onnx")
    input_name, label_name = sess.get_inputs()[0].name, sess.get_outputs()[0].name
    pred_onx = sess.run([label_name], {input_name: X.astype(np.float32)})[0]
    print(input_name, label_name, pred_onx)
    for tensor in (*sess.get_inputs(), *sess.get_outputs()):
        print("name:", tensor.name, "shape:", tensor.shape, "type:", tensor.type)


@program
def classifier_with_a_zip_map():
    for labels in ({"classlabels_int64s": [3, 5]}, {"classlabels_strings": ["no", "yes"]}):
        value = T.INT64 if "classlabels_int64s" in labels else T.STRING
        kind = h.make_sequence_type_proto(h.make_map_type_proto(value, h.make_tensor_type_proto(T.FLOAT, [])))
        sess = made([h.make_node("ZipMap", ["x"], ["p"], domain="ai.onnx.ml", **labels)],
                    [h.make_tensor_value_info("x", T.FLOAT, [None, 2])], [h.make_value_info("p", kind)])
        (maps,) = sess.run(None, {"x": np.array([[0.25, 0.75], [1, 0]], np.float32)})
        print(sess.get_outputs()[0].type, sess.get_outputs()[0].shape, type(maps).__name__, maps)
        print([type(part).__name__ for pair in maps[0].items() for part in pair], max(maps[0], key=maps[0].get))


@program
def gpu_first_then_cpu():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sess = rt.InferenceSession(parsed(LINEAR).SerializeToString(),
                                   providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    print(sess.get_providers(), sess.get_provider_options(), [w.category.__name__ for w in caught])
    print("CUDAExecutionProvider" in rt.get_available_providers(), rt.get_device())
    print(sess.run(None, {"x": X})[0].sum())


@program
def metadata_of_a_model():
    model = parsed(LINEAR, ', producer_name: "pytorch", producer_version: "2.1", domain: "ai.example", '
                           'model_version: 12, doc_string: "words", metadata_props: ["classes": "cat,dog", "x": ""]')
    meta = rt.InferenceSession(model.SerializeToString(), providers=CPU).get_modelmeta()
    print(meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.graph_description, meta.version)
    print(sorted(meta.custom_metadata_map.items()), meta.custom_metadata_map.get("nothing"))
    print(meta.custom_metadata_map["classes"].split(","))


@program
def runs_with_ort_values():
    sess = open_model("(float[n] x, bool[1] flip) => (float[n] y, bool[1] z) { y = Neg (x) z = Not (flip) }")
    feed = {"x": rt.OrtValue.ortvalue_from_numpy(np.array([1, -2], np.float32)),
            "flip": rt.OrtValue.ortvalue_from_numpy(np.array([True]))}
    out = sess.run_with_ort_values(["z", "y"], feed)
    print([type(v).__name__ for v in out], [v.numpy().tolist() for v in out], [v.data_type() for v in out])
    again = sess.run_with_ort_values(None, {"x": out[1], "flip": out[0]}, rt.RunOptions())
    print([v.numpy().tolist() for v in again], again[0].shape(), again[0].device_name())
    print(type(sess.run_with_ortvaluevector).__name__)
    attempt(lambda: sess.run_with_ort_values(["y"], {"x": np.ones(2, np.float32), "flip": feed["flip"]}))


@program
def every_field_of_the_options():
    so = rt.SessionOptions()
    changes = {"enable_cpu_mem_arena": False, "enable_mem_pattern": False, "enable_mem_reuse": False,
               "enable_profiling": False, "execution_mode": rt.ExecutionMode.ORT_PARALLEL,
               "execution_order": rt.ExecutionOrder.PRIORITY_BASED,
               "graph_optimization_level": rt.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, "inter_op_num_threads": 2,
               "intra_op_num_threads": 1, "log_severity_level": 3, "log_verbosity_level": 1, "logid": "mine",
               "optimized_model_filepath": "", "profile_file_prefix": "my_profile", "use_deterministic_compute": True}
    for name, value in changes.items():
        print(name, repr(getattr(so, name)), end=" -> ")
        setattr(so, name, value)
        print(repr(getattr(so, name)))
    so.add_session_config_entry("session.intra_op.allow_spinning", "0")
    print(so.get_session_config_entry("session.intra_op.allow_spinning"))
    sess = rt.InferenceSession(parsed(LINEAR).SerializeToString(), so, CPU)
    print(sess.run(None, {"x": X})[0].tolist(), sess.get_session_options().logid)


@program
def bindings_of_buffers():
    sess = open_model("(float[n, 3] x) => (float[n, 3] y, int64[k, 2] z) "
                      "{ y = Neg (x) t = NonZero (x) z = Transpose (t) }")
    binding = sess.io_binding()
    x = rt.OrtValue.ortvalue_from_numpy(X, "cpu", 0)
    y = np.empty((2, 3), np.float32)
    binding.bind_input(name="x", device_type=x.device_name(), device_id=0, element_type=np.float32, shape=x.shape(),
                       buffer_ptr=x.data_ptr())
    binding.bind_output(name="y", device_type="cpu", device_id=0, element_type=np.float32, shape=y.shape,
                        buffer_ptr=y.ctypes.data)
    binding.bind_output("z")
    binding.synchronize_inputs()
    sess.run_with_iobinding(binding)
    binding.synchronize_outputs()
    print(y.tolist(), [v.numpy().tolist() for v in binding.get_outputs()], binding.copy_outputs_to_cpu()[1].shape)
    binding.bind_cpu_input("x", np.zeros((1, 3), np.float32))
    attempt(lambda: sess.run_with_iobinding(binding))
    binding.clear_binding_outputs()
    binding.bind_output("y", "cpu")
    sess.run_with_iobinding(binding)
    print(len(binding.get_outputs()), binding.get_outputs()[0].numpy().tolist())
    binding.clear_binding_inputs()
    attempt(lambda: sess.run_with_iobinding(binding))
    attempt(lambda: binding.bind_cpu_input("nobody", X))
    attempt(lambda: binding.bind_output("nobody"))


@program
def a_state_that_goes_round():
    sess = open_model("(float[1, 2] h, float[1, 2] x) => (float[1, 2] next) { s = Add (h, x) next = Tanh (s) }")
    binding, state = sess.io_binding(), rt.OrtValue.ortvalue_from_numpy(np.zeros((1, 2), np.float32))
    spare = rt.OrtValue.ortvalue_from_shape_and_type([1, 2], np.float32)
    for step in range(4):
        binding.bind_cpu_input("x", np.full((1, 2), step / 4, np.float32))
        binding.bind_ortvalue_input("h", state)
        binding.bind_ortvalue_output("next", spare)
        sess.run_with_iobinding(binding)
        state, spare = spare, state
        print(np.round(state.numpy(), 4))


@program
def values_of_types_that_numpy_lacks():
    for kind, name in ((T.BFLOAT16, "bfloat16"), (T.FLOAT8E4M3FN, "float8_e4m3fn"), (T.FLOAT8E5M2, "float8_e5m2"),
                       (T.FLOAT8E4M3FNUZ, "float8_e4m3fnuz"), (T.FLOAT8E5M2FNUZ, "float8_e5m2fnuz")):
        array = np.array([1.5, -2, 0.25], getattr(ml_dtypes, name))
        bits = array.view(np.uint16 if array.itemsize == 2 else np.uint8)
        attempt(lambda value: (value.data_type(), value.element_type(), value.shape()),
                rt.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind))
        sess = made([h.make_node("Identity", ["x"], ["y"])], [h.make_tensor_value_info("x", kind, [3])],
                    [h.make_tensor_value_info("y", kind, [3])])
        print(sess.get_inputs()[0].type)
        value = rt.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind)
        attempt(lambda *given: given[0].run_with_ort_values(["y"], {"x": given[1]})[0].data_type(), sess, value)
        attempt(lambda *given: given[0].run(["y"], {"x": given[1]}) and None, sess, bits)


@program
def values_of_four_bits():
    for kind in (T.INT4, T.UINT4):
        to4 = h.make_node("Cast", ["x"], ["f"], to=kind)
        sess = made([to4, h.make_node("Cast", ["f"], ["y"], to=T.INT32)],
                    [h.make_tensor_value_info("x", T.FLOAT, ["n"])], [h.make_tensor_value_info("y", T.INT32, ["n"])])
        print(sess.run(None, {"x": np.array([1, 7, 5, 3, 2], np.float32)})[0].tolist())
        sess = made([to4], [h.make_tensor_value_info("x", T.FLOAT, ["n"])],
                    [h.make_tensor_value_info("f", kind, ["n"])])
        print(sess.get_outputs()[0].type)
        value = sess.run_with_ort_values(["f"], {"x": rt.OrtValue.ortvalue_from_numpy(np.ones(5, np.float32))})[0]
        print(value.data_type(), value.shape())


@program
def the_backend_of_onnx():
    model = parsed(LINEAR)
    rep = backend.prepare(model, "CPU")
    print(type(rep).__name__, type(rep.run(X)).__name__, rep.run(X)[0].tolist(), rep.run([X])[0].tolist())
    print(backend.supports_device("CPU"), backend.supports_device("TPU"), backend.is_compatible(model))
    attempt(lambda: backend.run_model(model, [X])[0].tolist())
    onnx.save(model, "backend.onnx")
    print(backend.prepare("backend.onnx").run(X)[0].tolist())
    attempt(lambda: backend.prepare(model, "CUDA:0").run(X))
    attempt(lambda: backend.run_node(model.graph.node[0], [X]))


@program
def a_profile():
    so = rt.SessionOptions()
    so.enable_profiling, so.profile_file_prefix = True, "timing"
    sess = rt.InferenceSession(parsed(LINEAR).SerializeToString(), so, CPU)
    for _ in range(3):
        sess.run(None, {"x": X})
    path = sess.end_profiling()
    print(path.startswith("timing_"), path.endswith(".json"), os.path.exists(path))
    events = json.loads(pathlib.Path(path).read_text())
    print(events[0]["name"], {"Node", "Session"} <= {e["cat"] for e in events}, sorted(events[-1]))
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
    print(len(nodes), nodes[0]["args"]["op_name"], nodes[0]["args"]["provider"],
          nodes[0]["args"]["input_type_shape"][0])
    print(type(sess.get_profiling_start_time_ns()).__name__, sum(e["name"] == "model_run" for e in events))


@program
def a_session_that_can_be_pickled():
    class PickableInferenceSession:
        def __init__(self, model_bytes):
            self.model_bytes = model_bytes
            self.sess = rt.InferenceSession(self.model_bytes, providers=CPU)

        def run(self, *args):
            return self.sess.run(*args)

        def __getstate__(self):
            return {"model_bytes": self.model_bytes}

        def __setstate__(self, values):
            self.__init__(values["model_bytes"])

    first = PickableInferenceSession(parsed(LINEAR).SerializeToString())
    second = PickableInferenceSession.__new__(PickableInferenceSession)
    second.__setstate__(pickle.loads(pickle.dumps(first.__getstate__())))
    print(second.run(None, {"x": X})[0].tolist())
    attempt(lambda: copy.deepcopy(rt.RunOptions()))


def in_child(model, connection):
    sess = rt.InferenceSession(model, providers=CPU) if isinstance(model, bytes) else model
    connection.send(sess.run(None, {"x": X})[0].tolist())


@program
def processes():
    model = parsed(LINEAR).SerializeToString()
    so = rt.SessionOptions()
    so.intra_op_num_threads = 1
    sess = rt.InferenceSession(model, so, CPU)
    print(sess.run(None, {"x": X})[0].tolist())
    for method, given in (("fork", sess), ("fork", model), ("spawn", model)):
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        child = context.Process(target=in_child, args=(given, theirs))
        child.start()
        print(method, ours.recv() if ours.poll(60) else "nothing")
        child.join()
        print(child.exitcode)
    print(sess.run(None, {"x": X})[0].tolist())


@program
def threads():
    sess = open_model(LINEAR)

    def work(k):
        return float(sess.run(None, {"x": X + k})[0].sum())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(sorted(pool.map(work, range(40))))


@program
def a_run_that_is_stopped():
    body = h.make_graph([h.make_node("Sin", ["v"], ["w"]), h.make_node("Identity", ["go"], ["on"])], "body",
                        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []),
                         h.make_tensor_value_info("v", T.FLOAT, ["n"])],
                        [h.make_tensor_value_info("on", T.BOOL, []), h.make_tensor_value_info("w", T.FLOAT, ["n"])])
    sess = made([h.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
                [h.make_tensor_value_info("times", T.INT64, []), h.make_tensor_value_info("x", T.FLOAT, ["n"])],
                [h.make_tensor_value_info("y", T.FLOAT, ["n"])])
    options = rt.RunOptions()
    feed = {"times": np.array(10**12), "x": np.ones(64, np.float32)}
    timer = threading.Timer(0.3, lambda: setattr(options, "terminate", True))
    timer.start()
    started = time.monotonic()
    try:
        sess.run(None, feed, options)
    except Exception as error:
        print(type(error).__name__, "terminate" in str(error).lower(), time.monotonic() - started < 30)
    options.terminate = False
    print(sess.run(None, feed | {"times": np.array(2)}, options)[0][:2].tolist())


@program
def arrays_of_other_kinds():
    sess = open_model("(float[?, ?] x) => (float[?, ?] y) { y = Neg (x) }")
    path = pathlib.Path("numbers.bin")
    path.write_bytes(X.tobytes())
    frozen = X.copy()
    frozen.flags.writeable = False
    for array in (np.matrix([[1, 2], [3, 4]], np.float32), np.ma.masked_array(X, X > 3),
                  np.memmap(path, np.float32, "r", shape=(2, 3)), frozen, X.T, X[:, ::-1], X[::2, 1:],
                  np.asfortranarray(X), np.broadcast_to(np.float32(2), (2, 2)), X.view(np.recarray), X[:, None, 0],
                  np.lib.stride_tricks.sliding_window_view(np.arange(4, dtype=np.float32), 2)):
        attempt(lambda array=array: told(sess.run(None, {"x": array})[0]))
    for thing in ([[1.0, 2.0]], [[1, 2]], [np.ones(2, np.float32)], {"a": 1}, np.ones((1, 1), np.float64),
                  np.ones((1, 1), np.float16)):
        attempt(lambda thing=thing: told(sess.run(None, {"x": thing})[0]))


@program
def nothing_in_arrays():
    sess = open_model("(float[n, 2] x) => (float[n, 2] y, float[1] s, int64[?] best, float[k, 2] c) "
                      "{ y = Relu (x) s = ReduceSum <keepdims: int = 0> (x) t = Concat <axis: int = 0> (x, x) "
                      "c = Identity (t) best = ArgMax <axis: int = 1, keepdims: int = 0> (x) }")
    for rows in (0, 1):
        out = sess.run(None, {"x": np.ones((rows, 2), np.float32)})
        print([told(value) for value in out])


@program
def strings():
    sess = open_model("(string[?] x) => (string[?] y) { y = Identity (x) }")
    for array in (np.array(["a", "bc"]), np.array(["a", "bc"], object), np.array(["ż", "大", "🎈"]), ["x", "y"],
                  np.array([1.5, None, "x", True], object), np.array([], object),
                  np.array(["", " "], object), np.array(["nul\0inside", "end\0"], object), np.array(["x" * 5000]),
                  np.array([np.str_("n"), np.int64(3)], object), np.array([3, 4])):
        attempt(lambda array=array: (lambda y: (y.dtype.str, y.shape, [len(s) for s in y], y.tolist()[:4]))(
            sess.run(None, {"x": array})[0]) if len(array) and len(str(array[0])) < 100 else "long or empty")
    print(type(sess.run(None, {"x": np.array(["a"])})[0][0]).__name__)


@program
def sequences():
    kind = h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, None))
    sess = made([h.make_node("SequenceLength", ["s"], ["n"]), h.make_node("Identity", ["s"], ["t"])],
                [h.make_value_info("s", kind)],
                [h.make_tensor_value_info("n", T.INT64, []), h.make_value_info("t", kind)])
    print(sess.get_inputs()[0].type, sess.get_inputs()[0].shape)
    one = np.ones(2, np.float32)
    for given in ([one, one * 2], [one, np.zeros((1, 3), np.float32)], []):
        attempt(lambda given=given: (lambda out: (out[0].tolist(), type(out[1]).__name__, [told(v) for v in out[1]]))(
            sess.run(None, {"s": given})))
    texts = h.make_sequence_type_proto(h.make_tensor_type_proto(T.STRING, None))
    sess = made([h.make_node("Identity", ["s"], ["t"])], [h.make_value_info("s", texts)],
                [h.make_value_info("t", texts)])
    attempt(lambda: [told(v) for v in sess.run(None, {"s": [np.array(["a", "b"]), np.array(["c"], object)]})[0]])


@program
def maps():
    for value, attribute, given in (
            (T.STRING, {"string_vocabulary": ["a", "b", "c"]}, ({"a": 1.5, "c": 2}, {"z": 1.0}, {1: 2.0})),
            (T.INT64, {"int64_vocabulary": [10, 20]}, ({10: 1.0, 20: 0.5}, {np.int64(20): np.float32(3)}, {"a": 1.0}))):
        kind = h.make_map_type_proto(value, h.make_tensor_type_proto(T.FLOAT, []))
        sess = made([h.make_node("DictVectorizer", ["m"], ["y"], domain="ai.onnx.ml", **attribute)],
                    [h.make_value_info("m", kind)], [h.make_tensor_value_info("y", T.FLOAT, None)])
        print(sess.get_inputs()[0].type)
        for one in given:
            attempt(lambda sess=sess, one=one: told(sess.run(None, {"m": one})[0]))
    kind = h.make_map_type_proto(T.INT64, h.make_tensor_type_proto(T.FLOAT, []))
    sess = made([h.make_node("CastMap", ["m"], ["y"], domain="ai.onnx.ml", cast_to="TO_FLOAT", map_form="SPARSE",
                             max_map=5)], [h.make_value_info("m", kind)],
                [h.make_tensor_value_info("y", T.FLOAT, None)])
    attempt(lambda: told(sess.run(None, {"m": {0: 1.0, 3: 2.0}})[0]))


@program
def optionals():
    kind = h.make_optional_type_proto(h.make_tensor_type_proto(T.FLOAT, ["n"]))
    sess = made([h.make_node("OptionalHasElement", ["x"], ["y"])], [h.make_value_info("x", kind)],
                [h.make_tensor_value_info("y", T.BOOL, [])])
    print(sess.get_inputs()[0].type, sess.get_inputs()[0].shape)
    for given in (np.ones(2, np.float32), None, [1.0], [], np.ones(2)):
        attempt(lambda given=given: told(sess.run(None, {"x": given})[0]))
    attempt(lambda: sess.run(None, {}))
    attrs = {"type": h.make_tensor_type_proto(T.FLOAT, [1])}
    sess = made([h.make_node("Optional", [], ["y"], **attrs)], [], [h.make_value_info("y", kind)])
    attempt(lambda: sess.run(None, {}))


@program
def run_options():
    options = rt.RunOptions()
    print({n: repr(getattr(options, n)) for n in sorted(dir(options))
           if n[0] != "_" and not callable(getattr(options, n))})
    options.log_severity_level, options.log_verbosity_level, options.logid = 4, 2, "run-1"
    options.only_execute_path_to_fetches = True
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    print(options.get_run_config_entry("memory.enable_memory_arena_shrinkage"), options.logid)
    print(open_model(LINEAR).run(None, {"x": X}, options)[0].tolist(), open_model(LINEAR).run(
        output_names=["y"], input_feed={"x": X}, run_options=options)[0].shape)


@program
def what_the_module_has():
    print(rt.__version__.split("+")[0], rt.get_version_string() if hasattr(rt, "get_version_string") else None)
    print(rt.get_available_providers()[-1], "CPUExecutionProvider" in rt.get_all_providers(), rt.get_device())
    print(hasattr(rt, "training"))
    with contextlib.suppress(ImportError):
        import onnxruntime.training.api  # noqa: F401
        print("training")
    print([name for name in ("InferenceSession", "IOBinding", "OrtDevice", "OrtValue", "SparseTensor", "RunOptions",
                             "SessionOptions", "ModelMetadata", "NodeArg", "GraphOptimizationLevel", "ExecutionMode",
                             "get_ep_devices", "OrtHardwareDevice", "set_seed", "disable_telemetry_events",
                             "preload_dlls", "ModelCompiler", "AdapterFormat", "LoraAdapter") if not hasattr(rt, name)])
    rt.set_seed(5)
    rt.disable_telemetry_events()
    rt.enable_telemetry_events()


@program
def dimensions_with_names():
    so = rt.SessionOptions()
    so.add_free_dimension_override_by_name("batch", 2)
    sess = open_model(LINEAR, so)
    print(sess.get_inputs()[0].shape, sess.get_outputs()[0].shape, sess.run(None, {"x": X})[0].shape)
    attempt(lambda: sess.run(None, {"x": X[:1]})[0].shape)
    sess = open_model("(float[N, 3, H, W] x, int64[?] i, float s, float[] q) => (float[N, 3, H, W] y) "
                      "{ y = Identity (x) }")
    print([(v.name, v.shape, [type(d).__name__ for d in v.shape], v.type) for v in sess.get_inputs()])


@program
def weights_that_the_caller_gives():
    weight = np.full((3, 2), 2, np.float32)
    so = rt.SessionOptions()
    value = rt.OrtValue.ortvalue_from_numpy(weight)
    so.add_initializer("w", value)
    print(open_model(LINEAR, so).run(None, {"x": X})[0].tolist())
    model = parsed(LINEAR)
    values = onnx.numpy_helper.to_array(model.graph.initializer[0])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(values, "w"))
    onnx.save(model, "outside.onnx", save_as_external_data=True, location="outside.bin", size_threshold=0)
    attempt(lambda: rt.InferenceSession("outside.onnx", providers=CPU).run(None, {"x": X})[0].tolist())


@program
def a_model_saved_after_optimization():
    for name, key in (("better.onnx", "ONNX"), ("better.ort", "ORT")):
        so = rt.SessionOptions()
        so.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_BASIC
        so.optimized_model_filepath = name
        so.add_session_config_entry("session.save_model_format", key)
        open_model("(float[n] x) => (float[n] y) { z = Neg (x) i = Identity (z) y = Abs (i) }", so)
        print(os.path.exists(name), rt.InferenceSession(name, providers=CPU).run(
            None, {"x": np.array([-1, 2], np.float32)})[0].tolist())
    print([node.op_type for node in onnx.load("better.onnx").graph.node])


@program
def mistakes_and_their_classes():
    sess = open_model(LINEAR)
    state = rt.capi.onnxruntime_pybind11_state
    for call in (lambda: sess.run(None, {"x": X.astype(np.float64)}), lambda: sess.run(None, {"x": X[0]}),
                 lambda: sess.run(["nothing"], {"x": X}), lambda: sess.run(None, {}), lambda: sess.run(None, {"z": X}),
                 lambda: rt.InferenceSession("nowhere.onnx"), lambda: rt.InferenceSession(b"\x00\x01"),
                 lambda: open_model("(float[1] x) => (float[1] y) { y = Unknown (x) }")):
        try:
            call()
        except (state.InvalidArgument, state.Fail, state.NoSuchFile, state.InvalidProtobuf, state.InvalidGraph,
                state.NotImplemented, state.RuntimeException, ValueError) as error:
            print(type(error).__module__, type(error).__name__, isinstance(error, RuntimeError), len(error.args))


@program
def life_of_objects():
    sess = open_model(LINEAR)
    y = sess.run(None, {"x": X})[0]
    value = sess.run_with_ort_values(["y"], {"x": rt.OrtValue.ortvalue_from_numpy(X)})[0]
    view, gone = value.numpy(), weakref.ref(sess)
    inputs, meta = sess.get_inputs(), sess.get_modelmeta()
    del sess
    gc.collect()
    print(gone() is None, y.tolist(), value.numpy().tolist(), inputs[0].name, meta.graph_name)
    del value
    gc.collect()
    print(view.tolist())
    for _ in range(50):
        open_model(LINEAR).run(None, {"x": X})
    source = np.ones((2, 3), np.float32)
    held = rt.OrtValue.ortvalue_from_numpy(source)
    source[:] = 7
    print(held.numpy().tolist()[0], y.flags.owndata, y.flags.writeable)
    y[0, 0] = 3
    print(y[0].tolist())


@program
def results_in_the_background():
    sess, over, seen = open_model(LINEAR), threading.Event(), []

    class Place:
        results = None

    def done(results, place, error):
        place.results = results
        seen.append((len(results), error))
        over.set()

    place = Place()
    sess.run_async(["y"], {"x": X}, done, place)
    print(over.wait(30), place.results[0].tolist(), seen)
    attempt(lambda: sess.run_async(["nothing"], {"x": X}, done, place))


@program
def sparse_values():
    attempt(lambda: rt.SparseTensor.sparse_coo_from_numpy(
        np.array([3, 3], np.int64), np.array([1, 2], np.float32), np.array([1, 5], np.int64),
        rt.OrtDevice.make("cpu", 0)).format())
    tensor = rt.SparseTensor.sparse_coo_from_numpy(np.array([3, 3], np.int64), np.array([1, 2], np.float32),
                                                   np.array([1, 5], np.int64), rt.OrtDevice.make("cpu", 0))
    print(tensor.values().tolist(), tensor.as_coo_view().indices().tolist(), list(tensor.dense_shape()),
          tensor.data_type(), tensor.device_name())
    value = rt.OrtValue.ort_value_from_sparse_tensor(tensor)
    print(value.is_sparse_tensor(), value.is_tensor(), value.data_type())
    attempt(lambda: value.as_sparse_tensor().values().tolist())


@program
def devices():
    device = rt.OrtDevice.make("cpu", 0)
    print(device.device_id() if callable(device.device_id) else device.device_id, device.device_type())
    value = rt.OrtValue.ortvalue_from_shape_and_type((2, 2), np.int64, "cpu", 0)
    value.update_inplace(np.arange(4).reshape(2, 2))
    print(value.numpy().tolist(), value.is_tensor_sequence(), value.device_name(), value.tensor_size_in_bytes()
          if hasattr(value, "tensor_size_in_bytes") else None)
    attempt(lambda: rt.OrtValue.ortvalue_from_numpy(X, "cuda", 0))
    attempt(lambda: rt.OrtValue.ortvalue_from_numpy(np.array(5.5)).shape())
    info = rt.OrtMemoryInfo("Cpu", rt.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, rt.OrtMemType.DEFAULT)
    attempt(lambda: rt.create_and_register_allocator(info, rt.OrtArenaCfg({"initial_chunk_size_bytes": 1 << 20})))


def run(function):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            function()
        except BaseException as error:
            print("ends with", type(error).__name__)
    return printed.getvalue().splitlines()


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).resolve()
    warnings.simplefilter("ignore")
    rt.set_default_logger_severity(4)
    np.set_printoptions(precision=4, suppress=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        told_by = {function.__name__: run(function) for function in PROGRAMS}
        target.write_text(json.dumps({"package": rt.__file__, "printed": told_by}))
        os.chdir("/")
    os._exit(0)  # the peer's threads do not always survive the end of a process that has forked
