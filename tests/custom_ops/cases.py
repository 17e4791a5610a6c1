"""Runs models with the operators of a library in one process and prints what comes out, as JSON.

usage: cases.py LIBRARY (onnxruntime | sardonyx) [CASE...]

The same cases run with ONNX Runtime, for which such libraries are made, and with Sardonyx; the tests compare them.
Errors are told by their exception's name alone: the words are each library's own.
"""
import concurrent.futures
import ctypes
import ctypes.util
import gc
import importlib
import json
import sys
import tempfile

import numpy as np
import onnx.parser

CASES = {}
DOMAIN = "test.custom"


def case(function):
    CASES[function.__name__] = function
    return function


class Runtime:
    def __init__(self, module, path):
        self.module, self.path = module, path
        self.library = ctypes.CDLL(path)

    def options(self):
        options = self.module.SessionOptions()
        options.register_custom_ops_library(self.path)
        options.log_severity_level = 3
        return options

    def session(self, text, options=None, imports='"": 17, "test.custom": 1'):
        model = onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{imports}]> {text}")
        return self.module.InferenceSession(model.SerializeToString(), options or self.options(),
                                            providers=["CPUExecutionProvider"])

    def run(self, text, feeds, options=None, **more):
        return [plain(value) for value in self.session(text, options, **more).run(None, feeds)]


def plain(value):
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": value.ravel().tolist()}
    return value


def attempt(work):
    try:
        return work()
    except Exception as error:
        return f"raised {type(error).__name__}"


def floats(*values):
    return np.array(values, np.float32)


@case
def add_by_every_form_of_the_struct(runtime):
    text = """g (float[n] x) => (float[n] a, float[n] b, float[n] c) {
        a = test.custom.AddAmount <amount = 2.5> (x)
        b = test.custom.AddAmountOld (a)
        c = test.custom.AddAmount16 <amount = 10.0> (b) }"""
    return runtime.run(text, {"x": floats(1, 2, 3)})


@case
def a_kernel_for_each_element_type(runtime):
    found = []
    for name, dtype in (("float", np.float32), ("int64", np.int64), ("double", np.float64)):
        text = f"g ({name}[n] x) => ({name}[n] y) {{ y = test.custom.Twice (x) }}"
        found.append(runtime.run(text, {"x": np.array([1, 2, 3], dtype)}))
    return found


@case
def an_element_type_that_no_kernel_takes(runtime):
    return attempt(lambda: runtime.session("g (int32[n] x) => (int32[n] y) { y = test.custom.Twice (x) }"))[:6]


@case
def any_type(runtime):
    found = []
    for name, array in (("float", floats(1, 2, 3)), ("int64", np.array([1, 2, 3])),
                        ("bool", np.array([True, False, False])), ("uint8", np.array([7, 8], np.uint8)),
                        ("float16", np.array([1, 2], np.float16)),
                        ("string", np.array(["one", "a much longer text than fits", ""], object))):
        text = f"g ({name}[n] x) => ({name}[n] y) {{ y = test.custom.Reverse (x) }}"
        found.append(runtime.run(text, {"x": array}))
    return found


@case
def a_type_that_follows_from_the_input(runtime):
    text = """g (int64[n] x) => (int64[n] z) {
        y = test.custom.Reverse (x)
        z = Neg (y) }"""
    return runtime.run(text, {"x": np.array([1, 2, 3])})


@case
def shapes_that_only_the_kernel_knows(runtime):
    text = """g (float[n] x) => (float[m] y, int64[1] s) {
        p = test.custom.Positive (x)
        y = Add (p, p)
        s = Shape (y) }"""
    session = runtime.session(text)
    feeds = [floats(1, -2, 3), floats(-1, -2), floats(), floats(4), floats(1, -2, 3)]
    return [[plain(value) for value in session.run(None, {"x": feed})] for feed in feeds]


@case
def the_shape_function(runtime):
    text = """g (float[n, 2] x) => (y, float z) {
        y = test.custom.Repeat <times = 3> (x)
        z = ReduceSum <keepdims = 0> (y) }"""
    session = runtime.session(text)
    shape = session.get_outputs()[0].shape
    feeds = [np.ones((2, 2), np.float32), np.ones((5, 2), np.float32)]
    return [shape, [[plain(value) for value in session.run(None, {"x": feed})] for feed in feeds]]


@case
def a_shape_function_that_is_wrong(runtime):
    """The kernel has the last word."""
    text = """g (float[n, 2] x) => (y, float[m, 2] z) {
        y = test.custom.Repeat <times = 2, predicted = 3> (x)
        t = Add (y, y)
        z = Neg (t) }"""
    session = runtime.session(text)
    feeds = [np.ones((1, 2), np.float32), np.ones((2, 2), np.float32), np.ones((1, 2), np.float32)]
    return [[plain(value) for value in session.run(None, {"x": feed})] for feed in feeds]


@case
def variadic_inputs(runtime):
    text = """g (float[n] x, int64[m] i, string[k] s) => (int64[5] y, int64[3] z, int64[2] v) {
        y = test.custom.Counts (x, x, x, i, s)
        z = test.custom.Counts (x, , s)
        v = test.custom.CountsAlike (i, i) }"""
    return runtime.run(text, {"x": floats(1, 2, 3), "i": np.array([1, 2]), "s": np.array(["a"], object)})


@case
def too_few_variadic_inputs(runtime):
    return attempt(lambda: runtime.session("g (float[n] x) => (int64[1] y) { y = test.custom.CountsAlike (x) }"))[:6]


@case
def variadic_inputs_of_different_types(runtime):
    text = "g (float[n] x, int64[n] i) => (int64[2] y) { y = test.custom.CountsAlike (x, i) }"
    return attempt(lambda: runtime.session(text))[:6]


@case
def variadic_outputs(runtime):
    text = "g (float[n] x) => (float[a] p, float[b] q, float[c] r) { p, q, r = test.custom.Deal (x) }"
    return runtime.run(text, {"x": floats(1, 2, 3, 4, 5)})


@case
def optional_inputs_and_outputs(runtime):
    both = """g (float[n] x, float[1] f) => (float[n] y, float s) { y, s = test.custom.Scale (x, f) }"""
    none = """g (float[n] x) => (float[n] y) { y = test.custom.Scale (x) }"""
    return [runtime.run(both, {"x": floats(1, 2), "f": floats(3)}), runtime.run(none, {"x": floats(1, 2)})]


@case
def strings(runtime):
    text = "g (string[n, 2] x) => (string[n, 2] y) { y = test.custom.Upper (x) }"
    return runtime.run(text, {"x": np.array([["abc", "a longer text that has its own memory"], ["", "ünï"]], object)})


@case
def an_output_that_shares_its_bytes(runtime):
    text = "g (float[n] x) => (float[n] y) { t = Mul (x, x) y = test.custom.SetFirst (t) }"
    return runtime.run(text, {"x": floats(1, 2, 3)})


@case
def an_output_that_may_take_the_place_of_an_input(runtime):
    text = "g (float[n] x) => (float[n] y) { t = Neg (x) y = test.custom.AddInPlace (t) }"
    return runtime.run(text, {"x": floats(1, 2, 3)})


IN_PLACE = {
    "of_a_planned_value": "t = Neg (x) y, p = test.custom.AddTurned (t)",
    "of_a_value_of_another_custom_operator": """t = Neg (x) u, q = test.custom.AddTurned (t)
                                               y, p = test.custom.AddTurned (u)""",
    "beside_another_input": "t = Neg (x) y, p = test.custom.AddTurned (t, x)",
    "behind_a_view": "t = Neg (x) v = Identity (t) y, p = test.custom.AddTurned (v)",
    "of_another_shape": "t = Neg (x) s, p = test.custom.AddTurned <count = 1.0> (t) y = Add (s, x)",
    "read_again_later": "t = Neg (x) u, p = test.custom.AddTurned (t) y = Mul (t, u)",
    "read_again_by_a_view": """t, q = test.custom.AddTurned (x) v = Identity (t) u, p = test.custom.AddTurned (t)
                               y = Mul (v, u)""",
    "given_twice": "t = Neg (x) y, p = test.custom.AddTurned (t, t)",
    "an_input_of_the_model": "y, p = test.custom.AddTurned (x)",
    "a_constant": "t = Constant <value_floats = [5.0, 7.0, 9.0]> () u, p = test.custom.AddTurned (t) y = Add (x, u)",
    "in_a_sequence": """t, q = test.custom.AddTurned (x) s = SequenceConstruct (t) u, p = test.custom.AddTurned (t)
                        zero = Constant <value_int = 0> () k = SequenceAt (s, zero) y = Mul (k, u)""",
}


def in_place(runtime, name):
    """What is computed, twice; behind the operator there is one more, because what leaves a run is never in place."""
    body = IN_PLACE[name].replace("y, p =", "z, p =")
    end = "y = Neg (z)" if body != IN_PLACE[name] else ""
    session = runtime.session(f"g (float[n] x) => (float[n] y, int64 p) {{ {body} {end} }}")
    found = [session.run(None, {"x": floats(*x)}) for x in [(1, 2, 3), (4, 5, 6), (7, 8, 9)]]
    return [[y.ravel().tolist() for y, _ in found], [int(place) for _, place in found]]


@case
def values_of_operators_that_may_work_in_place(runtime):
    return {name: in_place(runtime, name)[0] for name in IN_PLACE}


@case
def outputs_that_take_the_place_of_an_input(runtime):
    return [name for name in IN_PLACE if all(in_place(runtime, name)[1])]


@case
def outputs_that_have_a_place_of_their_own(runtime):
    return [name for name in IN_PLACE if not any(in_place(runtime, name)[1])]


@case
def calls_with_other_shapes_and_contents(runtime):
    return runtime.run("g (float[n] x) => (string[m] y) { y = test.custom.CallAgain (x) }", {"x": floats(1)})


@case
def versions(runtime):
    text = "g (float[n] x) => (int64 y) { y = test.custom.Version (x) }"
    later = "g (float[n] x) => (int64 y) { y = test.custom.Later (x) }"
    found = [runtime.run(text, {"x": floats(1)}, imports=f'"": 17, "test.custom": {version}') for version in (1, 2)]
    found.append(runtime.run(later, {"x": floats(1)}, imports='"": 17, "test.custom": 5'))
    found.append(attempt(lambda: runtime.session(later))[:6])
    return found


@case
def the_newest_version(runtime):
    text = "g (float[n] x) => (int64 y) { y = test.custom.Version (x) }"
    return [runtime.run(text, {"x": floats(1)}, imports=f'"": 17, "test.custom": {version}')[0]["values"]
            for version in (1, 2, 3, 7)]


@case
def a_domain_that_is_not_imported(runtime):
    text = "g (float[n] x) => (int64 y) { y = test.custom.Version (x) }"
    return attempt(lambda: runtime.run(text, {"x": floats(1)}, imports='"": 17'))


@case
def structs_of_version_1(runtime):
    """With CUSTOM_OPS_MORE in the environment the library has such an operator."""
    text = "g (float[n] x) => (float[n] y) { y = test.custom.AddAmountOldest <amount = 4.0> (x) }"
    return runtime.run(text, {"x": floats(1)})


@case
def the_saved_model(runtime):
    """The optimized model keeps domain, version and attributes of the operators, and runs."""
    found = []
    levels = runtime.module.GraphOptimizationLevel
    for level in (levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_ALL):
        with tempfile.TemporaryDirectory() as folder:
            options = runtime.options()
            options.graph_optimization_level = level
            options.optimized_model_filepath = f"{folder}/saved.onnx"
            text = """g (float[n] x) => (int64 v, float[n] y) {
                v = test.custom.Version (x)
                t = test.custom.AddAmount <amount = 2.0> (x)
                u = Identity (t)
                y = test.custom.AddAmount (u) }"""
            runtime.session(text, options, imports='"": 17, "test.custom": 2')
            saved = onnx.load(options.optimized_model_filepath)
            found.append([sorted((node.domain, node.op_type) for node in saved.graph.node),
                          [(import_.domain, import_.version) for import_ in saved.opset_import
                           if import_.domain == DOMAIN]])
            session = runtime.module.InferenceSession(options.optimized_model_filepath, runtime.options(),
                                                      providers=["CPUExecutionProvider"])
            found.append([plain(value) for value in session.run(None, {"x": floats(1)})])
    return found


@case
def in_a_branch_and_in_a_loop(runtime):
    text = """g (float[n] x, bool c, int64 trips) => (float[m] y, float[k] last) {
        y = If (c) <then_branch = a () => (float[m] t) { t = test.custom.Positive (x) },
                    else_branch = b () => (float[m] e) { e = test.custom.AddAmount <amount = 5.0> (x) }>
        true = Constant <value = bool {1}> ()
        last = Loop (trips, true, x) <body = l (int64 i, bool go, float[k] old) => (bool on, float[k] new) {
            on = Identity (go)
            new = test.custom.AddAmount (old) }> }"""
    session = runtime.session(text)
    return [[plain(value) for value in session.run(None, {"x": floats(-1, 2), "c": np.array(c), "trips": np.array(3)})]
            for c in (True, False)]


@case
def in_a_function(runtime):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "my": 1]>
        g (float[n] x) => (float[n] y) { y = my.Twice2 (x) }
        <domain: "my", opset_import: ["": 17, "test.custom": 1]>
        Twice2 (a) => (c) {
            b = test.custom.Twice (a)
            c = test.custom.AddAmount <amount = 0.5> (b) }""")
    session = runtime.module.InferenceSession(model.SerializeToString(), runtime.options(),
                                              providers=["CPUExecutionProvider"])
    return [plain(value) for value in session.run(None, {"x": floats(1, 2)})]


@case
def operators_with_the_names_of_built_in_ones(runtime):
    """With CUSTOM_OPS_REPLACE in the environment the library has a Relu, an AddToAll and a Gelu that add `amount`."""
    text = """g (float[n] x) => (float[n] y, float[n] z, float[n] v, float[n] w) {
        a = Neg (x)
        y = Relu <amount = 100.0> (a)
        z = AddToAll <amount = 1000.0> (x)
        v = com.microsoft.Gelu <amount = 10.0> (x)
        b = Relu (a)
        w = Relu (b) }"""
    return attempt(lambda: runtime.run(text, {"x": floats(1, 2)}, imports='"": 17, "com.microsoft": 1'))


@case
def a_function_of_the_same_name(runtime):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "test.custom": 1]>
        g (float[n] x) => (float[n] y) { y = test.custom.AddAmount <amount = 2.0> (x) }
        <domain: "test.custom", opset_import: ["": 17]>
        AddAmount <amount> (a) => (c) { c = Neg (a) }""")
    def run():
        session = runtime.module.InferenceSession(model.SerializeToString(), runtime.options(),
                                                  providers=["CPUExecutionProvider"])
        return [plain(value) for value in session.run(None, {"x": floats(1, 2)})]

    return attempt(run)


@case
def facts_of_the_node(runtime):
    text = """g (float[n, 3] x, float[1] f) => (string[k] y, e, string[j] y2) <float[2] w = {1, 2}> {
        y, e = test.custom.TellInfo (x, f, w)
        y2 = test.custom.TellInfo (x, , w) }"""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "test.custom": 1]> {text}')
    model.graph.node[0].name = "first"
    options = runtime.options()
    options.add_session_config_entry("session.test.entry", "its value")
    session = runtime.module.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [plain(value) for value in session.run(None, {"x": np.ones((2, 3), np.float32), "f": floats(1)})]


ATTRIBUTES = """real = 2.5, integer = -7, text = "a text", reals = [1.5, 2.5], integers = [3, 4, 5],
                texts = ["one", "two"], tensor = float[2] {1, 2}"""


@case
def attributes(runtime):
    text = f"g (float[n] x) => (string[k] y) {{ y = test.custom.TellAttributes <{ATTRIBUTES}> (x) }}"
    return runtime.run(text, {"x": floats(1)})


@case
def attributes_for_the_shape_function(runtime):
    text = f"g (float[n] x) => (string[k] y) {{ y = test.custom.TellShapes <{ATTRIBUTES}> (x) }}"
    return runtime.run(text, {"x": floats(1)})


@case
def surroundings(runtime):
    return runtime.run("g (float[n] x) => (string[k] y, float[1] z) { y, z = test.custom.TellContext (x) }",
                       {"x": floats(1)})


@case
def an_output_of_the_caller(runtime):
    """A kernel is told of the tensor that the caller has bound, and writes into it."""
    session = runtime.session("g (float[n] x) => (string[k] y, float[1] z) { y, z = test.custom.TellContext (x) }")
    told = []
    for bound in (True, False, True):
        z = np.zeros(1, np.float32)
        binding = session.io_binding()
        binding.bind_cpu_input("x", floats(1))
        binding.bind_output("y", "cpu")
        if bound:
            binding.bind_output("z", "cpu", 0, np.float32, [1], z.ctypes.data)
        else:
            binding.bind_output("z", "cpu")
        session.run_with_iobinding(binding)
        facts, result = (value.numpy() for value in binding.get_outputs())
        told.append([[fact for fact in facts if "before it is asked" in fact], plain(result), plain(z)])
    return told


@case
def other_operators(runtime):
    text = "g (float[m, n] x) => (float[m, n] y, float[m, 2] v, int64[m, 2] i, string[k] e) " \
           "{ y, v, i, e = test.custom.CallOthers (x) }"
    session = runtime.session(text)
    return [[plain(value) for value in session.run(None, {"x": x})]
            for x in (np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(8, dtype=np.float32).reshape(1, 8))]


@case
def parallel_work(runtime):
    text = """g (float[n] x) => (float[n] y, int64 a, int64 b) {
        y, a = test.custom.ParallelSquare <batches = 0> (x)
        z, b = test.custom.ParallelSquare <batches = 3> (x) }"""
    return runtime.run(text, {"x": np.arange(1000, dtype=np.float32)})


@case
def failures(runtime):
    found = []
    for op in ("Faulty", "FaultyOld"):
        for where in ("create", "compute", "none"):
            text = f'g (float[n] x) => (float y) {{ y = test.custom.{op} <where = "{where}"> (x) }}'
            found.append(attempt(lambda text=text: runtime.run(text, {"x": floats(1)})))
    text = "g (float[n] x) => (float y) { y = test.custom.Faulty <infer = 1> (x) }"
    found.append(attempt(lambda: runtime.session(text) is not None))
    found.append(attempt(lambda: runtime.session("g (float[n] x) => (float y) { y = test.custom.OnGpu (x) }"))[:6])
    return found


@case
def without_the_library(runtime):
    text = "g (float[n] x) => (float[n] y) { y = test.custom.AddAmount (x) }"
    return attempt(lambda: runtime.session(text, runtime.module.SessionOptions()))[:6]


@case
def no_such_library(runtime):
    found = []
    for path in ("/no/such/library.so", ctypes.util.find_library("m") or "libm.so.6"):
        options = runtime.module.SessionOptions()
        found.append(attempt(lambda options=options, path=path: options.register_custom_ops_library(path))[:6])
    return found


@case
def kernels_are_destroyed_once(runtime):
    made, destroyed = runtime.library.CustomOpsKernelsMade(), runtime.library.CustomOpsKernelsDestroyed()
    text = """g (float[n] x) => (float[n] y) {
        t = test.custom.AddAmount (x)
        y = test.custom.AddAmountOld (t) }"""
    session = runtime.session(text)
    session.run(None, {"x": floats(1)})
    del session
    gc.collect()
    found = [runtime.library.CustomOpsKernelsMade() - made, runtime.library.CustomOpsKernelsDestroyed() - destroyed]
    # A kernel that is there when the next one fails.
    text = """g (float[n] x) => (float y) {
        t = test.custom.AddAmount (x)
        y = test.custom.Faulty <where = "create"> (t) }"""
    found.append(attempt(lambda: runtime.session(text)))
    gc.collect()
    found.append(runtime.library.CustomOpsKernelsMade() - made - found[0])
    found.append(runtime.library.CustomOpsKernelsDestroyed() - destroyed - found[1])
    return found


@case
def side_effects(runtime):
    """Constant inputs, equal nodes, and results that nobody reads."""
    before = runtime.library.CustomOpsTicks()
    text = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
        a = test.custom.Tick (w)
        b = test.custom.Tick (w)
        unread = test.custom.Tick (x)
        s = Add (a, b)
        y = Add (s, x) }"""
    session = runtime.session(text)
    made = runtime.library.CustomOpsTicks() - before
    values = [plain(value) for value in session.run(None, {"x": floats(10, 20)})]
    return [values, made, runtime.library.CustomOpsTicks() - before]


@case
def an_info_that_outlives_its_session(runtime):
    text = "g (float[n] x) => (float y) { y = test.custom.KeepInfo (x) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "test.custom": 1]> {text}')
    model.graph.node[0].name = "kept"
    session = runtime.module.InferenceSession(model.SerializeToString(), runtime.options(),
                                              providers=["CPUExecutionProvider"])
    del session
    gc.collect()
    out = ctypes.create_string_buffer(64)
    runtime.library.CustomOpsKeptName.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return [runtime.library.CustomOpsKeptName(out, 64), out.value.decode()]


@case
def a_sequence(runtime):
    text = """g (float[n] x) => (int64 y) {
        s = SequenceConstruct (x, x, x)
        y = test.custom.Items (s) }"""
    return attempt(lambda: runtime.run(text, {"x": floats(1, 2)}))


@case
def a_sequence_as_output(runtime):
    text = """g (float[n] x) => (seq(float[n]) y, int64 k) {
        y = test.custom.Pair (x)
        k = SequenceLength (y) }"""
    return attempt(lambda: [[plain(item) for item in value] if isinstance(value, list) else plain(value) for value in
                            runtime.session(text).run(None, {"x": floats(1, 2)})])


@case
def bound_outputs(runtime):
    """Outputs go to the caller's memory, whether their shape is known before the run or not."""
    text = """g (float[n] x) => (float[m] y, float[n] z) {
        y = test.custom.Positive (x)
        z = test.custom.AddAmount (x) }"""
    session = runtime.session(text)
    found = []
    for x in (floats(1, -2, 3), floats(4, 5)):
        y, z = (runtime.module.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32)),
                runtime.module.OrtValue.ortvalue_from_numpy(np.zeros(len(x), np.float32)))
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_ortvalue_output("y", y)
        binding.bind_ortvalue_output("z", z)
        session.run_with_iobinding(binding)
        found.append([plain(y.numpy()), plain(z.numpy())])
    return found


@case
def many_threads(runtime):
    text = """g (float[n] x) => (float[m] y) {
        p = test.custom.Positive (x)
        q = test.custom.Twice (p)
        y = test.custom.AddAmount (q) }"""
    session = runtime.session(text)

    def work(seed):
        x = np.random.default_rng(seed).standard_normal(50 + seed, np.float32)
        wanted = 2 * x[x >= 0] + 1
        return all(np.array_equal(session.run(None, {"x": x})[0], wanted) for _ in range(50))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(8)))


@case
def registered_twice(runtime):
    options = runtime.options()
    options.register_custom_ops_library(runtime.path)
    text = "g (float[n] x) => (float[n] y) { y = test.custom.AddAmount (x) }"
    return attempt(lambda: runtime.run(text, {"x": floats(1)}, options))


@case
def the_options_twice(runtime):
    """Options with the library serve several sessions."""
    options = runtime.options()
    text = "g (float[n] x) => (float[n] y) { y = test.custom.AddAmount (x) }"
    return attempt(lambda: [runtime.run(text, {"x": floats(1)}, options) for _ in range(2)])


def main():
    path, name, *wanted = sys.argv[1:]
    runtime = Runtime(importlib.import_module(name), path)
    for key in wanted or CASES:
        try:
            found = CASES[key](runtime)
        except Exception as error:
            found = f"ended by {type(error).__name__}: {error}"
        print(json.dumps({"case": key, "found": found}, default=str), flush=True)


if __name__ == "__main__":
    main()
