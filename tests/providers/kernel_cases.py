"""The plug-in of tests/providers/kernels, which has a kernel for each operator and no compiler, through the package
`onnxruntime`. test_kernels.py runs each case with Sardonyx and with ONNX Runtime, and compares what it prints.

usage: python kernel_cases.py CASE LIBRARY
"""
import ctypes
import gc
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

LIBRARY = sys.argv[2]
NAME = "SingleKernelsProvider"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 2] y) <float[4] w = {1, 2, 3, 4}, float[4, 2] v = {1, 2, 3, 4, 5, 6, 7, 8}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  y = MatMul (d, v)
}"""
# Shapes: made, changed and read on the host.
SHAPES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[M] y, float[A, B] z, int64[2] s, int64 n) <int64[1] flat = {-1}, int64[1] at = {1}> {
  a = Relu (x)
  s = Shape (a)
  y = Reshape (a, flat)
  first, second = Split <axis = 0> (s)
  turned = Concat <axis = 0> (second, first)
  b = Reshape (a, turned)
  z = Add (b, b)
  n = Size (b)
}"""
# The host alone reads what a kernel has made there.
HOST_OUTPUT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y, int64[2] s) {
  a = Relu (x)
  s = Shape (a)
  y = Reshape (a, s)
}"""
MODELS = {"chain": CHAIN, "shapes": SHAPES, "host output": HOST_OUTPUT}


def count_of(what):
    count = ctypes.CDLL(LIBRARY).KernelsCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    return count(what.encode())


def tell(what, answer):
    print(f"{what}: {answer}")


def device():
    [found] = [device for device in ort.get_ep_devices() if device.ep_name == NAME]
    return found


def session(text, level=None, **settings):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if level is not None:
        options.graph_optimization_level = level
    options.add_provider_for_devices([device()], settings)
    return ort.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)


def assigned(made):
    return sorted((part.ep_name, node.op_type, node.name) for part in made.get_provider_graph_assignment_info()
                  for node in part.get_nodes())


def case_models():
    for name, text in MODELS.items():
        for level in ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL:
            made = session(text, level)
            tell(f"{name} {level}", assigned(made))
            for x in (X, X[:1], X):
                tell(name, [value.round(4).tolist() for value in made.run(None, {"x": x})])
            del made
            gc.collect()
            tell("left", [count_of(what) for what in ("kernels",)])


def case_places():
    """In which kind of host memory the kernels find and leave the values that they read and write on the host."""
    for name, text in MODELS.items():
        made = session(text)
        kinds = ("read pinned", "read pageable", "wrote pinned", "wrote pageable")
        before = np.array([count_of(kind) for kind in kinds])
        made.run(None, {"x": X})
        tell(name, dict(zip(kinds, (np.array([count_of(kind) for kind in kinds]) - before).tolist())))
        tell("pinned", count_of("pinned allocations"))


def case_reached():
    """A provider whose values lie in host memory that its card reaches."""
    kinds = ("read pinned", "read pageable", "wrote pinned", "wrote pageable")
    for name, text in MODELS.items():
        made = session(text, ort.GraphOptimizationLevel.ORT_DISABLE_ALL, memory="reached")
        for x in (X, X[:1], X):
            before = np.array([count_of(kind) for kind in kinds])
            tell(name, [value.round(4).tolist() for value in made.run(None, {"x": x})])
            tell(name, dict(zip(kinds, (np.array([count_of(kind) for kind in kinds]) - before).tolist())))
        for infos in made.get_input_memory_infos(), made.get_output_memory_infos():
            tell("memory", [(info.name, int(info.device_mem_type)) for info in infos])
        before = count_of("pinned blocks")
        value = ort.OrtValue.ortvalue_from_shape_and_type(
            X.shape, np.float32, memory_info=device().memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE))
        value.numpy()[...] = X
        tell("given there", [one.numpy().round(4).tolist() for one in made.run_with_ort_values(None, {"x": value})])
        del made, value
        gc.collect()
        tell("left", [count_of("kernels"), count_of("card blocks"), count_of("pinned blocks") <= before])
    print(answers(), end="")


def answers():
    function = ctypes.CDLL(LIBRARY).KernelsAnswers
    function.restype = ctypes.c_char_p
    return function().decode()


def case_asked():
    """What kernels are given that ask for memory, and what the values say that they read and make."""
    for text in MODELS.values():
        made = session(text, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
        made.run(None, {"x": X})
    print(answers(), end="")
    del made
    gc.collect()
    tell("left", [count_of(what) for what in ("kernels", "card blocks", "pinned blocks")])


def case_described():
    """Memory as Python describes it."""
    for memory in ort.OrtDeviceMemoryType.DEFAULT, ort.OrtDeviceMemoryType.HOST_ACCESSIBLE:
        for kind in ort.OrtMemoryInfoDeviceType.CPU, ort.OrtMemoryInfoDeviceType.GPU:
            info = ort.OrtMemoryInfo.create_v2("some", kind, 1, 0, memory, 0,
                                               ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR)
            tell(f"{kind} {memory}", (info.name, int(info.mem_type), int(info.device_mem_type), info.device_vendor_id))


def case_unsaid():
    """A provider that answers NULL when it is asked where its values lie."""
    made = session(CHAIN, memory="unsaid")
    tell("chain", made.run(None, {"x": X})[0].round(4).tolist())
    tell("assigned", assigned(made))
    tell("memory", [(info.name, int(info.device_mem_type)) for info in made.get_input_memory_infos()])


def case_fails_in_a_run():
    """A provider whose kernels refuse the memory that it named for their values: the session goes on without it."""
    made = session(CHAIN, memory="pinned")
    made.disable_fallback()
    for _ in range(2):
        try:
            made.run(None, {"x": X})
        except Exception as error:
            tell("error", type(error).__name__)
    for values in {"x": X}, {"x": ort.OrtValue.ortvalue_from_numpy(X)}:
        made = session(CHAIN, memory="pinned")
        run = made.run if values["x"] is X else made.run_with_ort_values
        for _ in range(2):
            tell("chain", [np.asarray(value.numpy() if hasattr(value, "numpy") else value).round(4).tolist()
                           for value in run(["y"], values)])
        tell("memory", [(info.name, int(info.device_mem_type)) for info in made.get_input_memory_infos()])


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    globals()["case_" + sys.argv[1]]()
    tell("end", True)


if __name__ == "__main__":
    main()
