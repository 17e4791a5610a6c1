"""Configuration files of what models need: a line of domain;version;operators for each version."""
import pathlib
import typing

from sardonyx.tools.logger import get_logger
from sardonyx.tools.ort_format_model.operator_type_usage_processors import OperatorTypeUsageManager
from sardonyx.tools.ort_format_model.ort_model_processor import OrtFormatModelProcessor

log = get_logger("ort_format_model.utils")


def create_config_from_models(
    model_files: typing.Iterable[pathlib.Path], output_file: pathlib.Path, enable_type_reduction: bool
):
    """Writes the configuration file of models in ORT format; with `enable_type_reduction`, the types that operators
    are used with stand behind their names."""
    required, manager = {}, OperatorTypeUsageManager() if enable_type_reduction else None
    models = sorted(model_files)
    for path in models:
        if not path.is_file():
            raise ValueError(f"expected a file, found '{path}'")
        OrtFormatModelProcessor(str(path), required, manager).process()
    lines = ["# Generated from model/s:", *(f"# - {path}" for path in models)]
    for domain, versions in sorted(required.items()):
        for version, operators in sorted(versions.items()):
            types = {name: manager.get_config_entry(domain, name) or "" if manager else "" for name in operators}
            lines.append(f"{domain};{version};{','.join(name + types[name] for name in sorted(operators))}")
    output_file.parent.mkdir(parents=True, exist_ok=True)
    output_file.write_text("\n".join(lines) + "\n")
    log.info("the operators of %d models are in %s", len(models), output_file)
