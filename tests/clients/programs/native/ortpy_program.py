"""Prints what ortpy, a binding on the C++ header of 1.23, gives. Arguments: the folder of models, one to write to."""
import pathlib
import sys
import time

import numpy as np
import ortpy

MODELS, WRITTEN = map(pathlib.Path, sys.argv[1:3])
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def words(value):
    """The value, or what a call gives, without white space; the class of the error that the call raises."""
    if callable(value) and not isinstance(value, type):
        try:
            value = value()
        except Exception as error:
            value = f"raises {type(error).__name__}"
    return "_".join(str(value).split()) or "(empty)"


def say(name, *values):
    print(f"result {name}:", *(words(value) for value in values))


def attempt(name, call, *arguments):
    """Says what a call gives, or the class of its error."""
    try:
        say(name, "gives", call(*arguments))
    except Exception as error:
        say(name, "raises", type(error).__name__, len(str(error)) > 0)


def options(**calls):
    made = ortpy.SessionOptions()
    for name, arguments in calls.items():
        getattr(made, name)(*arguments)
    return made


def session(name, made=None):
    return ortpy.Session(str(MODELS / f"{name}.onnx"), made or options())


def described(info):
    kind = info.onnx_type
    if kind == ortpy.ONNXType.SEQUENCE:
        return f"sequence({described(info.sequence_element_type)})"
    if kind == ortpy.ONNXType.MAP:
        return f"map({info.map_key_type},{described(info.map_value_type)})"
    if kind == ortpy.ONNXType.OPTIONAL:
        return f"optional({described(info.optional_contained_type)})"
    return f"{words(lambda: info.dtype)}{info.shape}{info.dimensions}{info.denotation}"


def place(info):
    return None if info is None else (info.name, info.device_id, info.mem_type.name, info.allocator_type.name,
                                      info.device_type.name)


def module():
    say("version", ortpy.ORT_API_VERSION)
    say("providers", "CPUExecutionProvider" in ortpy.get_available_providers())
    devices = [one for one in ortpy.get_ep_devices() if one.ep_name == "CPUExecutionProvider"]
    (cpu,) = devices
    say("device", cpu.ep_name, cpu.device.type.name, cpu.device.vendor_id, cpu.device.vendor, cpu.ep_options)
    say("device memory", place(cpu.get_memory_info(ortpy.DeviceMemoryType.HOST_ACCESSIBLE)))
    attempt("compatibility", ortpy.get_model_compatibility_for_ep_devices, devices, "nothing")
    attempt("a library that is not there", ortpy.register_execution_provider_library, "none", "/nowhere/lib.so")
    attempt("a library that was never registered", ortpy.unregister_execution_provider_library, "none")
    return devices


def values():
    for kind in (np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64,
                 np.uint64, np.bool_, np.float16):
        value = ortpy.Value(np.arange(6).reshape(2, 3).astype(kind))
        say(f"value {np.dtype(kind)}", value.shape, value.dtype, value.numpy().tolist(), value.is_tensor,
            value.has_value, value.value_type.name, value.get_tensor_size_in_bytes(),
            value.get_tensor_memory_info().name, value.get_tensor_memory_info().mem_type.name)
    texts = ortpy.Value.from_strings(["ż", "", "three"], [3, 1])
    say("texts", texts.shape, lambda: texts.dtype, texts.get_strings)
    attempt("texts of the wrong shape", ortpy.Value.from_strings, ["a"], [2])
    attempt("texts as numbers", texts.numpy)
    attempt("bytes of texts", texts.get_tensor_size_in_bytes)
    attempt("an element of a tensor", texts.__getitem__, 0)
    say("memory", place(ortpy.MemoryInfo()), ortpy.MemoryInfo() == ortpy.MemoryInfo(
        "Cpu", ortpy.AllocatorType.DEVICE, 0, ortpy.MemType.DEFAULT))
    attempt("memory of nobody", ortpy.MemoryInfo, "Nobody", ortpy.AllocatorType.DEVICE, 0, ortpy.MemType.DEFAULT)


def models():
    for path in sorted(MODELS.glob("*.onnx")):
        try:
            opened = ortpy.Session(str(path), options())
        except RuntimeError:
            say(f"model {path.stem}", "raises")
            continue
        say(f"model {path.stem}", *(f"{name}:{described(info)}" for part in (
            opened.get_input_info(), opened.get_output_info(), opened.get_overridable_initializer_info())
            for name, info in part.items()))
        say(f"places of {path.stem}", *(place(one) for part in (
            opened.get_memory_info_for_inputs(), opened.get_memory_info_for_outputs()) for one in part.values()))
        say(f"devices of {path.stem}", *(name for name in opened.get_ep_device_for_inputs()))
    data = session("linear").get_model_metadata()
    say("metadata", data.producer_name, data.graph_name, data.domain, data.description, data.graph_description,
        data.version, sorted(data.custom_metadata_map.items()), data.lookup_custom_metadata("author"),
        data.lookup_custom_metadata("nothing"))
    of_bytes = ortpy.Session((MODELS / "linear.onnx").read_bytes(), options())
    say("of bytes", of_bytes.run({"x": X})["y"].numpy().tolist())
    attempt("a file that is not there", ortpy.Session, "/nowhere/model.onnx", options())
    attempt("a folder", ortpy.Session, str(MODELS), options())
    attempt("no bytes", ortpy.Session, b"", options())


def runs():
    linear = session("linear")
    say("run", linear.run({"x": X}, ["y"], ortpy.RunOptions())["y"].numpy().tolist())
    say("run of values", linear.run_with_ort_values({"x": ortpy.Value(X)})["y"].numpy().tolist())
    for name, inputs, wanted in (("no inputs", {}, None), ("a wrong name", {"z": X}, None),
                                 ("a wrong type", {"x": X.astype(np.float64)}, None),
                                 ("a wrong shape", {"x": X.T}, None),
                                 ("a wrong rank", {"x": X.ravel()}, None), ("a wrong output", {"x": X}, ["q"])):
        attempt(f"run with {name}", linear.run, inputs, wanted)
    two = session("two_of_two").run({"a": np.float32([1, 2]), "b": np.float32([3, 4])})
    say("two", *(f"{name}={value.numpy().tolist()}" for name, value in two.items()))
    made = session("to_sequence").run({"a": np.float32([1]), "b": np.float32([2, 3])})["s"]
    say("sequence", made.value_type.name, len(made), [made[i].numpy().tolist() for i in range(2)])
    attempt("past a sequence", made.__getitem__, 2)
    chosen = session("sequence_at").run_with_ort_values({"s": made, "i": ortpy.Value(np.array(1, np.int64))})
    say("of a sequence", chosen["y"].numpy().tolist())
    for kind in ("int64", "string"):
        maps = session(f"zip_map_{kind}").run({"x": np.float32([[1, 2, 3]])})["z"]
        entry = maps[0]
        keys = entry[0]
        say(f"map {kind}", entry.value_type.name, len(entry),
            keys.get_strings() if kind == "string" else keys.numpy().tolist(), entry[1].numpy().tolist())
    upper = session("upper").run_with_ort_values({"x": ortpy.Value.from_strings(["ab", "ż"])})["y"]
    say("upper", upper.get_strings())
    replaced = session("overridable").run({"x": np.zeros((1, 2), np.float32), "bias": np.float32([7, 8])})["y"]
    say("a replaced weight", replaced.numpy().tolist())


def run_options():
    made = ortpy.RunOptions()
    say("run options", made.run_log_verbosity_level, made.run_log_severity_level, made.run_tag)
    made.run_log_verbosity_level, made.run_log_severity_level, made.run_tag = 3, 2, "tag"
    say("run options set", made.run_log_verbosity_level, made.run_log_severity_level, made.run_tag)
    made.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    say("run entry", made.get_run_config_entry("memory.enable_memory_arena_shrinkage"))
    attempt("run entry that is not there", made.get_run_config_entry, "nothing")
    made.set_terminate()
    attempt("a run that is stopped", session("linear").run, {"x": X}, None, made)
    made.unset_terminate()
    attempt("a run that goes on", lambda: session("linear").run({"x": X}, None, made)["y"].numpy().tolist())
    adapter = ortpy.LoraAdapter(str(MODELS / "adapter.ort_lora"))
    made.add_active_lora_adapter(adapter)
    attempt("a run with an adapter that does not fit", session("linear").run, {"x": X}, None, made)
    attempt("an adapter of no bytes", ortpy.LoraAdapter, b"")


def bindings():
    linear = session("linear")
    bound = linear.create_io_binding()
    attempt("nothing bound", linear.run_with_binding, bound)
    bound.bind_input("x", ortpy.Value(X))
    target = ortpy.Value(np.zeros((2, 2), np.float32))
    bound.bind_output("y", target)
    bound.synchronize_inputs()
    linear.run_with_binding(bound, ortpy.RunOptions())
    bound.synchronize_outputs()
    say("bound", target.numpy().tolist(), {name: value.numpy().tolist() for name, value in bound.get_outputs().items()})
    bound.clear_outputs()
    bound.bind_output_to_device("y", ortpy.MemoryInfo())
    linear.run_with_binding(bound)
    say("bound to a device", {name: value.numpy().tolist() for name, value in bound.get_outputs().items()})
    attempt("a name that is not there", bound.bind_input, "z", ortpy.Value(X))
    attempt("an output that is not there", bound.bind_output, "z", ortpy.Value(X))
    bound.clear_inputs()
    attempt("inputs taken away", linear.run_with_binding, bound)


def every_option(devices):
    made = options(set_session_log_id=("someone",), set_session_log_severity_level=(3,), set_intra_op_num_threads=(2,),
                   set_session_log_verbosity_level=(0,), set_inter_op_num_threads=(1,), disable_mem_pattern=(),
                   set_session_execution_mode=(ortpy.ExecutionMode.PARALLEL,), disable_cpu_mem_arena=(),
                   set_session_graph_optimization_level=(ortpy.GraphOptimizationLevel.ENABLE_EXTENDED,),
                   set_deterministic_compute=(True,), add_session_config_entry=("session.disable_prepacking", "1"),
                   add_free_dimension_override_by_name=("batch", 2), add_free_dimension_override=("DATA_BATCH", 2),
                   enable_mem_pattern=(), enable_cpu_mem_arena=())
    say("entries", made.has_session_config_entry("session.disable_prepacking"), made.has_session_config_entry("no"),
        made.get_session_config_entry("session.disable_prepacking"), sorted(made.get_session_config_entries().items()))
    attempt("an entry that is not there", made.get_session_config_entry, "no")
    say("a clone", session("linear", made.clone()).run({"x": X})["y"].numpy().tolist())
    say("an overridden dimension", described(session("linear", made).get_input_info()["x"]))
    made = options(set_load_cancellation_flag=(True,))
    attempt("a load that is stopped", session, "linear", made)
    made.set_load_cancellation_flag(False)
    say("a load that goes on", len(session("linear", made).get_input_info()))
    attempt("a custom library", options().register_custom_ops_library, "/nowhere/lib.so")
    attempt("a custom library, second form", options().register_custom_ops_library_v2, "/nowhere/lib.so")
    attempt("a custom function", options().register_custom_ops_using_function, "nowhere_to_be_found")
    for name in ("CUDA", "XNNPACK", "QNN", "Nobody", ""):
        attempt(f"provider {name}", options().append_execution_provider, name, {"a": "b"})
    chosen = options(append_execution_provider_v2=(devices, {}))
    say("a chosen device", session("linear", chosen).run({"x": X})["y"].numpy().tolist())
    attempt("no devices", options().append_execution_provider_v2, [], {})
    for policy in ortpy.ExecutionProviderDevicePolicy:
        attempt(f"policy {policy.name}", lambda policy=policy: len(
            session("linear", options(set_ep_selection_policy=(policy,))).get_input_info()))
    seen = []

    def choose(found, metadata, runtime, most):
        seen.append((len(found) > 0, sorted(metadata), sorted(runtime), most))
        return [one for one in found if one.ep_name == "CPUExecutionProvider"]
    session("linear", options(set_ep_selection_policy_delegate=(choose,)))
    say("a delegate", len(seen), seen[0][0], seen[0][3])


def weights():
    given = {"weights": ortpy.Value(np.ones((3, 2), np.float32)), "bias": ortpy.Value(np.zeros(2, np.float32))}
    made = options(add_external_initializers=(given,))
    say("weights given", session("linear_external", made).run({"x": X})["y"].numpy().tolist())
    files = {"linear_external.bin": (MODELS / "linear_external.bin").read_bytes()}
    external = (MODELS / "linear_external.onnx").read_bytes()
    made = options(add_external_initializers_from_files_in_memory=(files,))
    attempt("weights in memory", lambda: ortpy.Session(external, made).run({"x": X})["y"].numpy().tolist())
    made = options(add_initializer=("bias", given["bias"]))
    attempt("one weight", lambda: session("overridable", made).run({"x": X[:, :2].copy()})["y"].numpy().tolist())


def written():
    path = WRITTEN / "optimized.onnx"
    session("linear", options(set_optimized_model_file_path=(str(path),)))
    say("a saved model", ortpy.Session(str(path), options()).run({"x": X})["y"].numpy().tolist())
    profiled = session("linear", options(enable_profiling=(str(WRITTEN / "profile"),)))
    profiled.run({"x": X})
    start = profiled.get_profiling_start_time_ns()
    name = profiled.end_profiling()
    say("a profile", start > 0, pathlib.Path(name).exists(), pathlib.Path(name).name.startswith("profile_"))
    lines = []
    logged = options(set_user_logging_function=(lambda *words: lines.append(words),),
                     set_session_log_severity_level=(0,), set_session_log_id=("mine",))
    session("linear", logged).run({"x": X})
    say("a log", len(lines) > 0, {line[2] for line in lines} == {"mine"}, isinstance(lines[0][0], ortpy.LogLevel))
    compiled()


def compiled():
    path = WRITTEN / "compiled.onnx"
    made = options().create_model_compilation_options()
    made.set_input_model_path(str(MODELS / "linear.onnx"))
    made.set_ep_context_embed_mode(True)
    made.set_flags(0)
    made.set_graph_optimization_level(ortpy.GraphOptimizationLevel.ENABLE_BASIC)
    made.compile_model_to_file(str(path))
    say("compiled to a file", ortpy.Session(str(path), options()).run({"x": X})["y"].numpy().tolist())
    made = options().create_model_compilation_options()
    made.set_input_model_from_buffer((MODELS / "linear.onnx").read_bytes())
    again = ortpy.Session(made.compile_model_to_buffer(), options())
    say("compiled to bytes", again.run({"x": X})["y"].numpy().tolist())
    made = options().create_model_compilation_options()
    attempt("nothing to compile", made.compile_model_to_buffer)


def main():
    started = time.monotonic()
    ortpy.set_log_level(ortpy.LogLevel.FATAL)  # what it logs would stand between the results
    devices = module()
    for part in (values, models, runs, run_options, bindings, weights, written):
        part()
    every_option(devices)
    say("it ends", time.monotonic() - started < 600)


main()
