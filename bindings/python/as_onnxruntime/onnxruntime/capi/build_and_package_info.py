"""The name and version of the package. Packages compare the version with what they require."""
package_name = "onnxruntime"
__version__ = "1.31.1"
