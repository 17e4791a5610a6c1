"""SessionOptions and RunOptions, with ONNX Runtime's names and defaults."""
import os

import numpy as np

from sardonyx import _core, missing
from sardonyx.devices import PROVIDERS_OF_ONNX_RUNTIME, OrtEpDevice, device_of_provider
from sardonyx.values import OrtValue

# 1: a missing provider is an error unless the CPU is in the list; 0: the session is created without it, after a
# warning. The entry is for this package: the library never learns of providers that are missing.
STRICT_PROVIDERS = "sardonyx.strict_providers"


def _member(enumeration, name):
    """A default that is made when it is asked for, as importing enumerations takes time."""
    def get():
        from sardonyx import enumerations

        return getattr(enumerations, enumeration)[name]

    return get


def _option(name, default, doc):
    """A property that is passed to the C interface, and stored here for reading and pickling. `default` is a value or a
    function that gives it."""

    def get(self):
        return self._values[name] if name in self._values else _value_of(default)

    def set_(self, value):
        value = _as_type_of(default, value)
        getattr(self._handle, "set_" + name)(value)
        self._values[name] = value

    return property(get, set_, doc=doc)


def _value_of(default):
    return default() if callable(default) else default


def _as_type_of(default, value):
    """Numbers for switches, and NumPy's integers, are taken as ONNX Runtime takes them; the rest is the setter's to
    refuse."""
    if isinstance(default, bool) and (value is None or isinstance(value, (int, float, np.number, np.bool_))):
        return bool(value)
    if type(default) is int and isinstance(value, np.integer):
        return int(value)
    return value


def _without_effect(name, default, doc):
    """A property of ONNX Runtime that has no effect here: a value other than the default logs a warning."""

    def get(self):
        return self._values[name] if name in self._values else _value_of(default)

    def set_(self, value):
        if value != _value_of(default):
            missing.warn_not_honoured(f"{type(self).__name__}.{name} = {value!r}")
        self._values[name] = value

    return property(get, set_, doc=doc)


class _Closed:
    """Setting an unknown attribute is an error, so misspelled options are found."""

    def __setattr__(self, name, value):
        if not name.startswith("_") and not isinstance(getattr(type(self), name, None), property):
            missing.refuse(type(self).__name__, name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        missing.refuse(type(self).__name__, name)


_ADDING = ("append_provider", "add_provider_for_devices")  # of the calls that options repeat


class SessionOptions(_Closed):
    """Options for creating sessions. They can be used for several sessions, and changed in between."""

    execution_mode = _option("execution_mode", _member("ExecutionMode", "ORT_SEQUENTIAL"),
                             "ORT_SEQUENTIAL or ORT_PARALLEL")
    graph_optimization_level = _option("graph_optimization_level", _member("GraphOptimizationLevel", "ORT_ENABLE_ALL"),
                                       "how far the graph is optimized")
    intra_op_num_threads = _option("intra_op_num_threads", 0,
                                   "threads of one run, including the caller; 0: one per core")
    inter_op_num_threads = _option("inter_op_num_threads", 0,
                                   "threads that run independent branches in the mode ORT_PARALLEL; 0: one per core")
    log_severity_level = _option("log_severity_level", -1, "log messages of this severity and above: 0 verbose, 1 "
                                 "info, 2 warning, 3 error, 4 fatal")
    log_verbosity_level = _option("log_verbosity_level", 0, "no effect")
    logid = _option("logid", "", "the name of the session in log messages")
    enable_mem_pattern = _option("enable_mem_pattern", True, "memory is always planned; False logs a warning")
    enable_cpu_mem_arena = _option("enable_cpu_mem_arena", True,
                                   "keep the working memory of finished runs for later runs")
    use_deterministic_compute = _option("use_deterministic_compute", False,
                                        "a token has the same bits whatever tokens are computed with it; in every "
                                        "run and for every number of threads results have the same bits anyway")
    use_per_session_threads = _option("use_per_session_threads", True,
                                      "False: the session uses the threads of set_global_thread_pool_sizes")
    enable_mem_reuse = _without_effect("enable_mem_reuse", True, "no effect: values of a run always share memory")
    execution_order = _without_effect("execution_order", _member("ExecutionOrder", "DEFAULT"),
                                      "no effect: the order is fixed")

    def __init__(self):
        self._handle = _core.SessionOptionsHandle()
        self._values = {}
        self._config = {}
        self._calls = []  # (method, arguments), repeated after unpickling

    @property
    def optimized_model_filepath(self):
        """the file to which the optimized model is written; "": none"""
        return self._values.get("optimized_model_filepath", "")

    @optimized_model_filepath.setter
    def optimized_model_filepath(self, path):
        if "\0" in os.fsdecode(path):  # the C interface would see an end there
            raise _core.InvalidArgument(f"optimized_model_filepath: expected a path, found {path!r}")
        self._handle.set_optimized_model_filepath(os.fsdecode(path))
        self._values["optimized_model_filepath"] = path

    @property
    def enable_profiling(self):
        """whether a profile of the session is recorded; see InferenceSession.end_profiling"""
        return self._values.get("enable_profiling", False)

    @enable_profiling.setter
    def enable_profiling(self, on):
        self._values["enable_profiling"] = bool(on)
        self._handle.set_enable_profiling(self.enable_profiling, self.profile_file_prefix)

    @property
    def profile_file_prefix(self):
        """the beginning of the profile's file name, with its folder; the time and ".json" are added"""
        return self._values.get("profile_file_prefix", "onnxruntime_profile_")

    @profile_file_prefix.setter
    def profile_file_prefix(self, prefix):
        self._values["profile_file_prefix"] = os.fsdecode(prefix)
        self._handle.set_enable_profiling(self.enable_profiling, self.profile_file_prefix)

    def add_session_config_entry(self, key, value):
        self._set_config(key, value)

    def _set_config(self, key, value):
        if key != STRICT_PROVIDERS:
            self._handle.add_session_config_entry(key, value)
        elif value not in ("0", "1"):
            raise _core.InvalidArgument(f"session configuration '{key}': expected 0 or 1, found {value!r}")
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
        """Replaces an initializer of the model by `ortvalue`, whose memory is used without a copy."""
        self._call("add_initializer", name, ortvalue)

    def fix_input(self, name, value):
        """Replaces the input `name` by a constant: a copy of `value`, which is an array or an OrtValue. The sessions no
        longer have this input, and compute what depends only on it once."""
        if not isinstance(value, OrtValue):
            value = OrtValue.ortvalue_from_numpy(np.array(value))
        self._call("fix_input", name, value)

    def add_external_initializers(self, names, ortvalues):
        self._call("add_external_initializers", list(names), list(ortvalues))

    def add_external_initializers_from_files_in_memory(self, names, buffers, lengths):
        """Provides the contents of external data files, by the names that the model uses for them."""
        if not len(names) == len(buffers) == len(lengths):
            raise ValueError(f"expected as many names, buffers and lengths, found {len(names)}, {len(buffers)} and "
                             f"{len(lengths)}")
        for name, buffer, length in zip(names, buffers, lengths):
            if memoryview(buffer).nbytes < length:
                raise ValueError(f"external data file '{name}': expected {length} bytes, found "
                                 f"{memoryview(buffer).nbytes}")
        contents = [bytes(memoryview(buffer).cast("B")[:length]) for buffer, length in zip(buffers, lengths)]
        self._call("add_external_initializers_from_files_in_memory", [os.fsdecode(name) for name in names], contents)

    def add_provider_for_devices(self, devices, options=None):
        """Adds the provider of the devices (see get_ep_devices), which must all have the same provider."""
        self._call("add_provider_for_devices", list(devices), {str(k): str(v) for k, v in (options or {}).items()})

    def set_provider_selection_policy(self, policy):
        """Sets how providers are chosen if none is added: an OrtExecutionProviderDevicePolicy."""
        self._call("set_provider_selection_policy", int(policy))

    def has_providers(self):
        """Whether a provider was added."""
        return any(method in _ADDING for method, _ in self._calls)

    def register_custom_ops_library(self, path):
        self._call("register_custom_ops_library", os.fsdecode(path))

    def add_provider(self, name, options=None):
        if device := device_of_provider(name):
            return self.add_provider_for_devices([device], options)
        try:
            self._call("append_provider", name, {str(key): str(value) for key, value in (options or {}).items()})
        except _core.InvalidArgument as error:
            if name in [f"{known}ExecutionProvider" for known in PROVIDERS_OF_ONNX_RUNTIME]:
                raise
            raise RuntimeError(str(error)) from None  # for a name that it has never heard of, ONNX Runtime does so

    def set_provider_selection_policy_delegate(self, delegate):
        """Lets a function choose the devices of a session if no provider is added. It gets a list of OrtEpDevice, what
        the model says of itself, what is known of the runtime (both dicts), and how many it may choose, and gives a
        list of those that it chose."""
        if not callable(delegate):
            raise TypeError(f"expected a function that chooses devices, found '{type(delegate).__name__}'")

        def choose(handles, model, runtime, most):
            return [device._handle for device in delegate([OrtEpDevice(handle) for handle in handles], model, runtime,
                                                          most)]

        self._call("set_provider_selection_policy_delegate", choose)

    def set_load_cancellation_flag(self, cancel):
        """True, set from any thread, ends the creation of sessions from these options with ModelLoadCanceled."""
        self._handle.set_load_cancellation_flag(cancel)

    def set_ep_context_data_read_func(self, read_func, max_data_size):
        """Lets a function give what compiled models keep outside: it gets the name and an OrtEpContextDataBuffer, which
        it allocates, at most `max_data_size` bytes, and fills. It may be called by several threads at once."""
        from sardonyx.compile import reader_of_data, require_callable  # here and below: few programs need it

        require_callable(read_func, "read_func")
        if not 0 < max_data_size < 2**64 - 1:
            raise RuntimeError(f"max_data_size: expected a size of at least 1 byte, found {max_data_size}")
        self._call("set_ep_context_data_read_func", reader_of_data(read_func, max_data_size))

    def clear_ep_context_data_read_func(self):
        self._call("set_ep_context_data_read_func", None)

    def _call(self, method, *arguments):
        getattr(self._handle, method)(*map(_handle_of, arguments))
        self._calls.append((method, arguments))

    def __getstate__(self):
        return {"values": self._values, "config": self._config, "calls": self._calls}

    def __setstate__(self, state):
        self.__init__()
        for name, value in state["values"].items():
            setter = getattr(self._handle, f"set_{name}", None)
            if name in ("enable_profiling", "profile_file_prefix"):
                setattr(self, name, value)
            elif setter is not None:
                setter(os.fsdecode(value) if name == "optimized_model_filepath" else value)
            self._values[name] = value
        for key, value in state["config"].items():
            self._set_config(key, value)
        for method, arguments in state["calls"]:
            self._call(method, *arguments)

    def _copy(self, with_providers=True):
        """A copy with a handle of its own, to which a session adds its providers."""
        state = self.__getstate__()
        if not with_providers:
            state["calls"] = [call for call in self._calls if call[0] not in _ADDING]
        copy = SessionOptions.__new__(SessionOptions)
        copy.__setstate__(state)
        return copy

    def _options_of_providers(self):
        """{name: options} of the providers that were added; those of devices begin with what the device says."""
        found = {}
        for method, (provider, values) in (call for call in self._calls if call[0] in _ADDING):
            if method == "append_provider":
                found.setdefault(provider, values)
            elif provider:
                found.setdefault(provider[0].ep_name, {**provider[0].ep_options, **values})
        return found


class RunOptions(_Closed):
    """Options of single runs. Any thread may set `terminate = True` to end the runs that use them."""

    log_severity_level = _option("log_severity_level", -1, "no effect on a run; 0 verbose to 4 fatal")
    log_verbosity_level = _option("log_verbosity_level", 0, "no effect")
    logid = _option("tag", "", "a name for the run, without effect")
    terminate = _option("terminate", False, "True: the run ends before its next node")
    only_execute_path_to_fetches = _without_effect("only_execute_path_to_fetches", False, "no effect: all nodes run")

    def __init__(self):
        self._handle = _core.RunOptionsHandle()
        self._values = {}
        self._config = {}

    def enable_profiling(self, profile_file_prefix="onnxruntime_profile_"):
        """Writes a profile of each run that uses these options."""
        self._handle.set_enable_profiling(True, os.fsdecode(profile_file_prefix))

    def disable_profiling(self):
        self._handle.set_enable_profiling(False, "")

    def add_run_config_entry(self, key, value):
        self._handle.add_run_config_entry(key, value)
        self._config[key] = value

    def add_active_adapter(self, adapter):
        """Uses the parameters of a LoraAdapter in runs with these options; those of the last adapter come first."""
        from sardonyx.adapters import LoraAdapter

        if not isinstance(adapter, LoraAdapter):
            raise TypeError(f"expected a LoraAdapter, found '{type(adapter).__name__}'")
        if adapter._handle is not None:  # one that no file was loaded into has no parameters
            self._handle.add_active_adapter(adapter._handle)

    def get_run_config_entry(self, key):
        if key not in self._config:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._config[key]


def _handle_of(argument):
    """The handle of an OrtValue, which the extension module expects, also in a list; other arguments unchanged."""
    if isinstance(argument, list):
        return [_handle_of(item) for item in argument]
    return getattr(argument, "_handle", argument)
