"""Models of another opset, by the package onnx."""


def convert_opset(model, version):
    """An onnx.ModelProto of that version of ONNX's own operators. The converter knows neither functions, whose calls
    are replaced by their nodes before, nor metadata, which is copied."""
    import onnx
    import onnx.inliner
    import onnx.version_converter

    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    converted = onnx.version_converter.convert_version(model, version)
    known = {entry.key for entry in converted.metadata_props}
    converted.metadata_props.extend(entry for entry in model.metadata_props if entry.key not in known)
    return converted
