"""InferenceSession, with the methods of onnxruntime's, implemented with the C interface."""
import contextlib
import os
import weakref
from _thread import allocate_lock  # the module threading would take a tenth of the time of `import sardonyx`
from collections.abc import Sequence

from sardonyx import _core, missing
from sardonyx.devices import OrtEpDevice, OrtMemoryInfo, device_of_provider, place_of
from sardonyx.options import STRICT_PROVIDERS, RunOptions, SessionOptions
from sardonyx.process import get_available_providers
from sardonyx.values import OrtValue, element_type_of


def _parsed(text):
    import json  # here, because creating and running a session does not need it

    return json.loads(text)


class ModelMetadata:
    """What the model file says about its origin."""

    producer_name = property(lambda self: self._values["producer_name"])
    graph_name = property(lambda self: self._values["graph_name"])
    domain = property(lambda self: self._values["domain"])
    description = property(lambda self: self._values["description"])
    graph_description = property(lambda self: self._values["graph_description"])
    version = property(lambda self: self._values["version"])
    custom_metadata_map = property(lambda self: self._values["custom_metadata_map"])

    def __init__(self, values):
        self._values = values


class OrtEpAssignedNode:
    """A node of the model, with its operator."""

    __slots__ = ("name", "domain", "op_type")

    def __init__(self, name, domain, op_type):
        self.name = name
        self.domain = domain
        self.op_type = op_type


class OrtEpAssignedSubgraph:
    """Nodes that a provider runs: a group that it has compiled, or a single node."""

    __slots__ = ("ep_name", "_nodes")

    def __init__(self, ep_name, nodes):
        self.ep_name = ep_name
        self._nodes = nodes

    def get_nodes(self):
        return self._nodes


def _normalized_providers(providers, provider_options):
    """[(name, options)] from names, from (name, options) pairs, or from names and a list of options."""
    if isinstance(providers, (str, dict)):  # would be taken for a sequence of characters, or lose its options
        raise ValueError(f"'providers' should be a list of names or (name, options) tuples, found {providers!r}.")
    providers = list(providers or [])
    if not providers:  # options without providers belong to nothing
        return []
    if provider_options is not None:
        if not isinstance(provider_options, Sequence) or isinstance(provider_options, str):
            raise ValueError(f"'provider_options' should be a sequence, found {provider_options!r}.")
        if len(providers) != len(provider_options):
            raise ValueError(f"'providers' and 'provider_options' should be the same length if both are given, found "
                             f"{len(providers)} and {len(provider_options)}.")
        if any(not isinstance(name, str) for name in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if any(not isinstance(values, dict) for values in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        return _without_duplicates(zip(providers, provider_options, strict=True))
    result = []
    for entry in providers:
        if isinstance(entry, str):
            result.append((entry, {}))
        elif isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], dict):
            result.append(entry)
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return _without_duplicates(result)


def _without_duplicates(providers):
    """Each provider once, as it was first named."""
    result = {}
    for name, values in providers:
        if name in result:
            missing.warn(f"Duplicate provider '{name}' encountered, ignoring.")
        result.setdefault(name, values)
    return list(result.items())


def _missing(providers, may_fall_back, strict):
    """{name: reason} of missing providers. If the CPU may stand in, one warning says so; otherwise creating the session
    fails. If `strict` is set, the CPU stands in only where it is also in the list."""
    if all(name in _core.available_providers() for name, _ in providers):
        return {}
    available = get_available_providers()
    absent = [name for name, _ in providers if name not in available]
    if not absent:
        return {}
    text = f"expected providers among {available}, found {', '.join(repr(name) for name in absent)}"
    if strict and all(name != "CPUExecutionProvider" for name, _ in providers):
        raise _core.InvalidArgument(f"{text}; add 'CPUExecutionProvider' to run on the CPU where they are missing")
    if not may_fall_back:
        raise _core.InvalidArgument(f"{text}; session.disable_cpu_ep_fallback is set")
    present = [name for name, _ in providers if name in available and name != "CPUExecutionProvider"]
    missing.warn(f"{text}; the nodes run on {', '.join([*present, 'CPUExecutionProvider'])} instead")
    return {name: f"expected one of {available}" for name in absent}


_from_bytes, _from_bytes_lock = weakref.WeakSet(), allocate_lock()


def _kept_once(session):
    """The bytes of the session's model; if another session holds equal bytes, those are shared."""
    with _from_bytes_lock:
        others = [other._model for other in _from_bytes]
        _from_bytes.add(session)
    return next((model for model in others if model == session._model), session._model)


def _start(work):
    import threading

    threading.Thread(target=work, name="sardonyx run_async").start()


def _names(output_names):
    """A text alone would count as a list of its letters."""
    if isinstance(output_names, str):
        raise TypeError(f"'output_names': expected a list of names or None, found the text {output_names!r}")
    return list(output_names) if output_names else None


def _handle_of(run_options):
    if run_options is None:
        return None
    if not isinstance(run_options, RunOptions):
        raise TypeError(f"'run_options': expected RunOptions, found '{type(run_options).__name__}'")
    return run_options._handle


class InferenceSession:
    """A model that is loaded and ready to run. Any number of threads may call `run` at the same time.

    `path_or_bytes` is a file name (str or path object) or the bytes of a model. Errors are exceptions of this package
    (NoSuchFile, InvalidProtobuf, InvalidGraph, NotImplemented ...). Their messages name the file and the node, what was
    expected and what was found.
    """

    _sess = property(lambda self: self)  # in ONNX Runtime a session of the extension module
    _strict_providers = True  # unless the entry STRICT_PROVIDERS of the session's options says otherwise
    _binding_class = None  # IOBinding, unless a class below says otherwise
    _dicts_are_of_floats = False  # whether a dict is taken for a map to floats, whatever the model declares

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._model = path_or_bytes
        self._model_path = None if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._disabled = list(kwargs.pop("disabled_optimizers", None) or [])
        for name in kwargs:
            missing.warn_not_honoured(f"InferenceSession({name}=...)")
        self._chosen = _normalized_providers(providers, provider_options)
        self._fallback = True
        self._create()

    def _create(self):
        options = self._sess_options
        key = "session.disable_cpu_ep_fallback"
        strict = options.has_session_config_entry(key) and options.get_session_config_entry(key) == "1"
        absent = _missing(self._chosen, not strict, self._are_providers_strict())
        # The CPU needs no telling, unless the options forbid it: that is the library's to refuse.
        wanted = any(name != "CPUExecutionProvider" or values or strict for name, values in self._chosen)
        from_bytes = isinstance(self._model, bytes)
        if from_bytes:
            self._model = _kept_once(self)
        replaces = bool(self._chosen) and options.has_providers()  # the session's list is the one that counts
        if wanted or self._disabled or from_bytes or replaces:
            options = options._copy(with_providers=not replaces)
        if from_bytes:  # kept as long as the session: weights are not copied, and inner values can be requested later
            options._handle.add_session_config_entry("session.use_ort_model_bytes_directly", "1")
        chosen = list(self._chosen) if wanted else []
        if absent and all(name != "CPUExecutionProvider" for name, _ in chosen):
            chosen.append(("CPUExecutionProvider", {}))
        for name, values in chosen:
            if device := device_of_provider(name):
                options.add_provider_for_devices([device], values)
                continue
            entries = {str(key): str(value) for key, value in values.items()}
            options._handle.append_provider_or_missing(name, entries, absent.get(name, ""))
        if self._disabled:
            key = "optimization.disable_specified_optimizers"
            before = [options.get_session_config_entry(key)] if options.has_session_config_entry(key) else []
            options.add_session_config_entry(key, ";".join([*before, *self._disabled]))
        self._session = _core.Session(self._model, options._handle)
        self._inputs = self._session.inputs
        self._outputs = self._session.outputs
        self._overridable = self._session.overridable_initializers
        self._output_names = [output.name for output in self._outputs]
        self._required = [port.name for port in self._inputs if not port.type.startswith("optional")]
        self._other_maps = {port.name: port.type for port in self._inputs if self._dicts_are_of_floats
                            and port.type.startswith("map(") and not port.type.endswith(",tensor(float))")}

    def _are_providers_strict(self):
        options = self._sess_options
        if options.has_session_config_entry(STRICT_PROVIDERS):
            return options.get_session_config_entry(STRICT_PROVIDERS) == "1"
        return self._strict_providers

    # ---- what the model is ----
    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def get_overridable_initializers(self):
        return self._overridable

    def get_modelmeta(self):
        return ModelMetadata(self._session.metadata())

    def get_session_options(self):
        return self._sess_options

    def get_providers(self):
        """The session's providers, in their order. The reasons in placement() name those that are missing."""
        return _parsed(self._session.providers())["providers"]

    def get_provider_options(self):
        options = {name: {str(k): str(v) for k, v in values.items()} for name, values in self._chosen}
        if not options:
            options = self._sess_options._options_of_providers()
        return {name: options.get(name, {}) for name in self.get_providers()}

    def set_providers(self, providers=None, provider_options=None):
        self._chosen = _normalized_providers(providers, provider_options)
        self._create()

    def get_input_memory_infos(self):
        return [OrtMemoryInfo._from_core(values) for values in _core.input_memory(self._session)]

    def get_output_memory_infos(self):
        return [OrtMemoryInfo._from_core(values) for values in _core.output_memory(self._session)]

    def get_input_epdevices(self):
        """For each input, the device that its memory belongs to; None for host memory."""
        return [handle and OrtEpDevice(handle) for handle in _core.input_devices(self._session)]

    def get_provider_graph_assignment_info(self):
        """Which provider runs which nodes of the model: a part for each group that a provider has compiled, and one for
        each other node. Needs the entry session.record_ep_graph_assignment_info = "1"; placement() shows the graph that
        runs.
        """
        return [OrtEpAssignedSubgraph(provider, [OrtEpAssignedNode(*node) for node in nodes])
                for provider, nodes in _core.assignment(self._session)]

    def placement(self):
        """Which provider runs which node: a list of dicts in the order of execution.

        A dict has node, value (the node's first output, because many nodes have no name), domain, op_type, provider,
        reason (why providers before this one in the list do not run the node; "" if there are none) and bytes_copied.
        The latter is 0 except for copies between devices: the bytes that the last run moved, with all iterations of a
        body; before the first run, the bytes that the model declares, or None if the size is not fixed. For nodes that
        a provider compiled into one, members lists them (node, domain, op_type).
        """
        return _parsed(self._session.placement())

    # ---- runs ----
    def _validate_input(self, feed_input_names):
        missing = [name for name in self._required if name not in feed_input_names]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed_input_names)}).")

    def _refuse_dicts(self, feed):
        for name, declared in self._other_maps.items():
            if isinstance(feed.get(name), dict):
                key = declared[len("map("):declared.index(",")]
                raise _core.InvalidArgument(
                    f"input '{name}': expected a value of type {declared}, found a dict, which ONNX Runtime's package "
                    f"takes for map({key},tensor(float)); the package sardonyx accepts it")

    def run(self, output_names, input_feed, run_options=None):
        """Runs the model and returns the named outputs (None: all) as a list of NumPy arrays, lists (of sequences) and
        dicts (of maps).

        `input_feed` is {input name: array or OrtValue}. Contiguous arrays are used without a copy. The GIL is released
        during the run; Ctrl-C ends it.

        `output_names` may also name other values of the model's graph. If optimization has removed such a value, a
        second session is created to compute it, and kept for the next call. That takes as long as creating a session,
        and its results may differ from those of the first session in the last bits.
        """
        self._validate_input(input_feed.keys())
        if self._other_maps:
            self._refuse_dicts(input_feed)
        feed = {name: value._handle if isinstance(value, OrtValue) else value for name, value in input_feed.items()}
        return self._session.run(_names(output_names) or self._output_names, feed, _handle_of(run_options))

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """Like `run`, with OrtValues as inputs and outputs."""
        self._validate_input(input_dict_ort_values.keys())
        feed = {name: value._handle for name, value in input_dict_ort_values.items()}
        values = self._session.run_with_values(_names(output_names) or self._output_names, feed,
                                               _handle_of(run_options))
        return [OrtValue(value) for value in values]

    def run_async(self, output_names, input_feed, callback=None, user_data=None, run_options=None):
        """Runs the model on another thread, which then calls callback(outputs, user_data, error text).

        Without a callback: `outputs = await session.run_async(None, feed)`. Cancelling the task that awaits ends the
        run before its next node.
        """
        if callback is None:
            return self._run_awaited(output_names, input_feed, run_options)
        self._validate_input(input_feed.keys())  # an error of the call, not of the run

        def work():
            try:
                outputs, error = self.run(output_names, input_feed, run_options), ""
            except Exception as failure:  # noqa: BLE001  (handed to the callback)
                outputs, error = [], str(failure)
            callback(outputs, user_data, error)

        _start(work)
        return None

    async def _run_awaited(self, output_names, input_feed, run_options):
        import asyncio  # here, because it takes longer than all of `import sardonyx`

        options = run_options if run_options is not None else RunOptions()
        loop = asyncio.get_running_loop()
        result = loop.create_future()

        def settle(set_it, value):
            if not result.cancelled():
                set_it(value)

        def work():
            try:
                outcome = result.set_result, self.run(output_names, input_feed, options)
            except Exception as failure:  # noqa: BLE001  (raised where the run is awaited)
                outcome = result.set_exception, failure
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any longer
                loop.call_soon_threadsafe(settle, *outcome)

        _start(work)
        try:
            return await result
        except asyncio.CancelledError:
            options.terminate = True
            raise

    def io_binding(self):
        from sardonyx.binding import IOBinding  # here, because few programs need it

        return (self._binding_class or IOBinding)(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._handle.run(self._session, _handle_of(run_options))

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices):
        """Like `run_with_ort_values`, but appends the results, each on the device (an OrtDevice) at its place in
        `fetch_devices`, to `fetches`."""
        from sardonyx.binding import IOBinding

        binding = IOBinding(self)
        for name, value in zip(feed_names, feeds, strict=True):
            binding.bind_ortvalue_input(name, value)
        for name, device in zip(fetch_names, fetch_devices, strict=True):
            binding.bind_output(name, device)
        self.run_with_iobinding(binding, run_options)
        fetches.extend(binding.get_outputs())

    def create_ortvalue_from_shape_and_type(self, shape, element_type, device_type, device_id=0, vendor_id=-1):
        """A tensor in memory of the session's allocator for that device."""
        place = place_of(device_type, device_id, vendor_id)
        return OrtValue(_core.ValueHandle.empty_of(self._session, list(shape), element_type_of(element_type), place))

    def get_tuning_results(self):
        """Returns an empty list: kernels are chosen by sizes, not by measurements."""
        return []

    def set_tuning_results(self, results, *, error_on_invalid=False):
        if results and error_on_invalid:
            raise RuntimeError(f"expected no tuning results, for no provider of this build is tuned, found {results!r}")
        if results:
            missing.warn_not_honoured("InferenceSession.set_tuning_results")

    # ---- seeing inside ----
    def end_profiling(self):
        """Writes the profile that SessionOptions.enable_profiling has requested, and returns the name of the file.

        Returns "" if there is no profile. The file is a trace for https://ui.perfetto.dev, chrome://tracing and tools
        that read ONNX Runtime's profiles. A session that is closed before also writes it.
        """
        return self._session.end_profiling()

    def get_profiling_start_time_ns(self):
        """When the profile began, in nanoseconds since 1970; 0 for a session without a profile."""
        return self._session.profiling_start_time_ns()

    def check_values(self, input_feed, run_options=None):
        """Runs once and examines every value: {"values": rows in the order of execution, "first_nan",
        "first_infinity"}.

        A row has value, node, op_type, graph (the body of control flow), type, shape, turns (how often it was
        computed), count (of elements), nan_count, infinity_count, and min, max, mean, std of the finite elements.
        `first_nan` and `first_infinity` are None or the first node that computed one from inputs without any: node,
        op_type, value, turns (the iterations of the bodies that contain it, outermost first) and inputs (their rows in
        that iteration). Sessions with graph_optimization_level ORT_DISABLE_ALL have every node of the model's author.
        """
        self._validate_input(input_feed.keys())
        if self._other_maps:
            self._refuse_dicts(input_feed)
        feed = {name: value._handle if isinstance(value, OrtValue) else value for name, value in input_feed.items()}
        return _parsed(self._session.check_values(feed, _handle_of(run_options)))

    def memory_plan(self):
        """The plan of the last run: a list with the steps, arenas, buffers and values of the graph and of each body.

        A buffer has values, memory, offset, bytes, first_step and last_step; if last_step is the number of steps, the
        buffer is in use until the run returns. The list is empty before the first run.
        """
        return _parsed(self._session.plan())

    def disable_fallback(self):
        self._fallback = False

    def enable_fallback(self):
        self._fallback = True

    def set_ep_dynamic_options(self, options):
        """Sets options of the session's providers from plug-ins, while it lives."""
        _core.set_dynamic_options(self._session, {str(key): str(value) for key, value in options.items()})

    def release_captured_graph(self, graph_annotation_id=0):
        """Frees a graph that a provider has captured, with this number."""
        self._session.release_captured_graph(graph_annotation_id)

    def __getattr__(self, name):
        missing.refuse(type(self).__name__, name)

    # ---- life ----
    def trim(self):
        """Frees what the session keeps for later runs: plans of input shapes, and memory of finished runs."""
        self._session.trim()

    def close(self):
        """Frees the model now, before the last reference to the session is gone."""
        self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def __getstate__(self):
        return {"model": self._model, "options": self._sess_options, "chosen": self._chosen, "disabled": self._disabled}

    def __setstate__(self, state):
        self._model = state["model"]
        self._model_path = None if isinstance(self._model, bytes) else os.fspath(self._model)
        self._sess_options = state["options"]
        self._chosen = state["chosen"]
        self._disabled = state["disabled"]
        self._fallback = True
        self._create()


__all__ = [
    "InferenceSession", "ModelMetadata", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "RunOptions",
    "SessionOptions",
]
