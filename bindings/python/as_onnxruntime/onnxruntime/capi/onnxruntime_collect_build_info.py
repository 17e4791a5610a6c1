"""Which CUDA runtimes this machine has."""
import ctypes


def find_cudart_versions(build_env=False, build_cuda_version=None):  # noqa: ARG001  (one machine is like the other)
    """The versions, as numbers of the CUDA runtime (12040 is 12.4), of libcudart.so and of that for one version."""
    found = []
    for suffix in ("", f".{build_cuda_version}") if build_cuda_version else ("",):
        number = ctypes.c_int()
        try:
            status = ctypes.CDLL(f"libcudart.so{suffix}").cudaRuntimeGetVersion(ctypes.byref(number))
        except (OSError, AttributeError):  # there is none, or it is something else
            continue
        if status == 0 and number.value not in found:
            found.append(number.value)
    return found
