"""Information about the package, and settings of the whole process."""
import operator
import os
import platform
import sys
import warnings

from sardonyx import _core
from sardonyx.devices import get_ep_devices

sardonyx_version = _core.own_version_string()


def get_available_providers():
    """The names of the execution providers in this build, in the order of their default priority, then those of the
    libraries that are registered."""
    return list(dict.fromkeys([*_core.available_providers(), *(device.ep_name for device in get_ep_devices())]))


def get_all_providers():
    return get_available_providers()


def get_device():
    return "CPU"


def get_version_string():
    """The version of ONNX Runtime to which the interface corresponds."""
    return _core.version_string()


def get_build_info():
    return _core.build_info()


def has_collective_ops():
    """Whether the build has operators that communicate with other processes."""
    return False


def set_default_logger_severity(severity):
    if not 0 <= severity <= 4:
        raise RuntimeError(f"log severity: expected 0 (verbose) to 4 (fatal), found {severity}")
    _core.set_log_level(severity)


def set_default_logger_verbosity(verbosity):
    """Accepted for compatibility; it has no effect, as the verbose level has one grade. TypeError for no integer."""
    operator.index(verbosity)


def disable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def enable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def set_seed(seed):
    """Seeds Python's `random`; operators without a seed attribute use the entropy of the system."""
    import random  # here: few programs need it, and its import is a part of what `import sardonyx` costs

    random.seed(operator.index(seed))


def set_global_thread_pool_sizes(intra_op_num_threads=0, inter_op_num_threads=0):
    """Sets the threads of sessions with use_per_session_threads = False. A call after the first session is created, or
    after devices are listed, changes nothing: a warning says so, since ONNX Runtime takes it."""
    try:
        _core.set_global_thread_pool_sizes(intra_op_num_threads, inter_op_num_threads)
    except _core.Fail as error:
        warnings.warn(f"{error}; nothing was set", stacklevel=2)


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):  # noqa: ARG001
    """Accepted for compatibility: this build needs no library that has to be loaded beforehand."""


def print_debug_info():
    """Prints what a bug report should say about this machine and build."""
    print(f"sardonyx version: {sardonyx_version} (interface of onnxruntime {get_version_string()})")
    print(f"build: {get_build_info()}")
    print(f"platform: {platform.platform()}, Python {platform.python_version()}")
    print(f"package: {os.path.dirname(_core.__file__)}")
    print(f"providers: {', '.join(get_available_providers())}")
    for name in ("numpy", "ml_dtypes"):
        print(f"{name}: {getattr(sys.modules.get(name), '__version__', 'not loaded')}")
    for name in ("LD_LIBRARY_PATH", "SDX_MAX_ISA"):
        print(f"{name}: {os.environ.get(name, '(unset)')}")
