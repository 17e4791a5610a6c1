"""What the package says of itself, and settings of the whole process."""
import os
import platform
import random
import sys

from sardonyx import _core

sardonyx_version = _core.own_version_string()


def get_available_providers():
    """The providers of this build, first choice first."""
    return _core.available_providers()


def get_all_providers():
    return get_available_providers()


def get_device():
    return "CPU"


def get_version_string():
    """The version of ONNX Runtime whose interface this is."""
    return _core.version_string()


def get_build_info():
    return _core.build_info()


def has_collective_ops():
    """Whether operators that talk to other processes are built in."""
    return False


def set_default_logger_severity(severity):
    _core.set_log_level(severity)


def set_default_logger_verbosity(verbosity):  # noqa: ARG001  (the verbose level has one grade)
    """Accepted for compatibility: the verbose level has one grade."""


def disable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def enable_telemetry_events():
    """Accepted for compatibility: there is no telemetry."""


def set_seed(seed):
    """Seeds Python's own choices; operators without a seed attribute draw from the system's entropy."""
    random.seed(seed)


def set_global_thread_pool_sizes(intra_op_num_threads=0, inter_op_num_threads=0):
    """Threads of the sessions with use_per_session_threads = False. To be called before the first session is made."""
    _core.set_global_thread_pool_sizes(intra_op_num_threads, inter_op_num_threads)


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):  # noqa: ARG001
    """Accepted for compatibility: this build uses no library that would have to be loaded beforehand."""


def print_debug_info():
    """What a report of a fault should say of this machine and build."""
    print(f"sardonyx version: {sardonyx_version} (interface of onnxruntime {get_version_string()})")
    print(f"build: {get_build_info()}")
    print(f"platform: {platform.platform()}, Python {platform.python_version()}")
    print(f"package: {os.path.dirname(_core.__file__)}")
    print(f"providers: {', '.join(get_available_providers())}")
    for name in ("numpy", "ml_dtypes"):
        print(f"{name}: {getattr(sys.modules.get(name), '__version__', 'not loaded')}")
    for name in ("LD_LIBRARY_PATH", "SDX_MAX_ISA"):
        print(f"{name}: {os.environ.get(name, '(unset)')}")
