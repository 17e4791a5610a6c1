"""Checks of the system, which this package does not need, and the name and version of the package."""
from onnxruntime.capi import build_and_package_info


def check_distro_info():
    """Does nothing: the wheel's tag says which systems it is for."""


def get_package_name_and_version_info():
    """(name of the package, version, version of CUDA: "" without)"""
    return build_and_package_info.package_name, build_and_package_info.__version__, ""


def check_training_module():
    """(whether the package can train, name, version, version of CUDA)"""
    return False, *get_package_name_and_version_info()
