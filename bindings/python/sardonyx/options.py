"""SessionOptions and RunOptions, with ONNX Runtime's names and defaults."""
import enum
import os

from sardonyx import _core


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _option(name, default, doc):
    """A property that is remembered here for reading and for pickling, and handed on to the C interface."""

    def get(self):
        return self._values.get(name, default)

    def set_(self, value):
        getattr(self._handle, "set_" + name)(value)
        self._values[name] = value

    return property(get, set_, doc=doc)


class SessionOptions:
    """What a session is created with. Options can be shared by sessions and changed between them."""

    execution_mode = _option("execution_mode", ExecutionMode.ORT_SEQUENTIAL, "ORT_SEQUENTIAL or ORT_PARALLEL")
    graph_optimization_level = _option("graph_optimization_level", GraphOptimizationLevel.ORT_ENABLE_ALL,
                                       "how much the graph is optimized")
    intra_op_num_threads = _option("intra_op_num_threads", 0, "threads of one run, the caller included; 0: all cores allowed")
    inter_op_num_threads = _option("inter_op_num_threads", 0, "threads for operators that do not depend on each other")
    log_severity_level = _option("log_severity_level", -1, "0 verbose, 1 info, 2 warning, 3 error, 4 fatal")
    log_verbosity_level = _option("log_verbosity_level", 0, "how much the verbose level says")
    logid = _option("logid", "", "a name that stands in the session's messages")
    enable_mem_pattern = _option("enable_mem_pattern", True, "plan memory for known shapes")
    enable_cpu_mem_arena = _option("enable_cpu_mem_arena", True, "keep memory between runs")
    use_deterministic_compute = _option("use_deterministic_compute", False, "the same bits on every run")

    def __init__(self):
        self._handle = _core.SessionOptionsHandle()
        self._values = {}
        self._config = {}
        self._calls = []  # (method, arguments) to repeat when unpickled
        self.execution_order = ExecutionOrder.DEFAULT

    @property
    def optimized_model_filepath(self):
        """where the optimized model is written; "": nowhere"""
        return self._values.get("optimized_model_filepath", "")

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, path):
        self._handle.set_optimized_model_filepath(os.fsdecode(path))
        self._values["optimized_model_filepath"] = path

    @property
    def enable_profiling(self):
        """write a profile of every run"""
        return self._values.get("enable_profiling", False)

    @enable_profiling.setter
    def enable_profiling(self, on):
        self._handle.set_enable_profiling(on, self.profile_file_prefix)
        self._values["enable_profiling"] = on

    @property
    def profile_file_prefix(self):
        return self._values.get("profile_file_prefix", "onnxruntime_profile_")

    @profile_file_prefix.setter
    def profile_file_prefix(self, prefix):
        self._values["profile_file_prefix"] = prefix
        if self.enable_profiling:
            self._handle.set_enable_profiling(True, prefix)

    def add_session_config_entry(self, key, value):
        self._handle.add_session_config_entry(key, value)
        self._config[key] = value

    def get_session_config_entry(self, key):
        if key not in self._config:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._config[key]

    def has_session_config_entry(self, key):
        return key in self._config

    def add_free_dimension_override_by_name(self, name, size):
        self._call("add_free_dimension_override_by_name", name, size)

    def add_free_dimension_override_by_denotation(self, denotation, size):
        self._call("add_free_dimension_override_by_denotation", denotation, size)

    def add_initializer(self, name, ortvalue):
        """`ortvalue` takes the place of the model's initializer; its memory is used, not copied."""
        self._call("add_initializer", name, _handle_of(ortvalue))

    def add_external_initializers(self, names, ortvalues):
        self._call("add_external_initializers", list(names), [_handle_of(value) for value in ortvalues])

    def register_custom_ops_library(self, path):
        self._call("register_custom_ops_library", os.fsdecode(path))

    def add_provider(self, name, options=None):
        self._call("append_provider", name, {str(key): str(value) for key, value in (options or {}).items()})

    def _call(self, method, *arguments):
        getattr(self._handle, method)(*arguments)
        self._calls.append((method, arguments))

    def __getattr__(self, name):
        if name in _PEER_ONLY_SESSION_OPTIONS:
            raise NotImplementedError(f"SessionOptions.{name} is not implemented in Sardonyx")
        raise AttributeError(f"SessionOptions has no attribute '{name}'")

    def __getstate__(self):
        return {"values": self._values, "config": self._config, "calls": self._calls, "order": self.execution_order}

    def __setstate__(self, state):
        self.__init__()
        self.execution_order = state["order"]
        for name, value in state["values"].items():
            setattr(self, name, value)
        for key, value in state["config"].items():
            self.add_session_config_entry(key, value)
        for method, arguments in state["calls"]:
            self._call(method, *arguments)

    def _copy(self):
        """A handle of its own with the same settings, to which a session adds its providers."""
        copy = SessionOptions.__new__(SessionOptions)
        copy.__setstate__(self.__getstate__())
        return copy


_PEER_ONLY_SESSION_OPTIONS = {
    "add_external_initializers_from_files_in_memory", "add_provider_for_devices", "set_load_cancellation_flag",
    "set_provider_selection_policy", "set_provider_selection_policy_delegate", "has_providers", "enable_mem_reuse",
}


class RunOptions:
    """What one run does differently. `terminate = True`, from any thread, ends the run it was given to."""

    log_severity_level = _option("log_severity_level", -1, "0 verbose ... 4 fatal")
    log_verbosity_level = _option("log_verbosity_level", 0, "how much the verbose level says")
    logid = _option("tag", "", "a name that stands in the run's messages")
    terminate = _option("terminate", False, "end the run before its next node")

    def __init__(self):
        self._handle = _core.RunOptionsHandle()
        self._values = {}
        self._config = {}
        self.only_execute_path_to_fetches = False
        self.training_mode = False

    def add_run_config_entry(self, key, value):
        self._handle.add_run_config_entry(key, value)
        self._config[key] = value

    def get_run_config_entry(self, key):
        if key not in self._config:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._config[key]

    def __getattr__(self, name):
        if name in ("add_active_adapter", "set_sync_stream"):
            raise NotImplementedError(f"RunOptions.{name} is not implemented in Sardonyx")
        raise AttributeError(f"RunOptions has no attribute '{name}'")


def _handle_of(ortvalue):
    return ortvalue if isinstance(ortvalue, _core.ValueHandle) else ortvalue._handle
