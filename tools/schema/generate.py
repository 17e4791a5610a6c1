#!/usr/bin/env python3
"""Writes src/ops/schema/schema_table.inc and schema_functions.inc, the schemas of all operators.

The facts (names, types, versions, defaults) come from the onnx and onnxruntime packages, and for our own operators from
own_operators.py. Run it after a release of either package, then implement what is new; src/ops gives operators their
meaning.

usage: python tools/schema/generate.py [--out FOLDER]
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peer  # noqa: E402

peer.require()
import onnx  # noqa: E402
import onnx.defs  # noqa: E402
import onnx.printer  # noqa: E402
import onnxruntime  # noqa: E402
import own_operators  # noqa: E402
from onnx import AttributeProto, TensorProto, helper  # noqa: E402
from onnxruntime.capi import onnxruntime_pybind11_state as runtime  # noqa: E402

ONNX_VERSION = "1.23.2"
RUNTIME_VERSION = "1.31.1"
# In the order of the indices in the table; the first name is the one that the sources use.
DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft", "com.microsoft.nchwc",
           own_operators.DOMAIN, own_operators.LAST]
RUNTIME_DOMAINS = DOMAINS[:-2]  # domains of ONNX Runtime's schemas
UNLIMITED = 2147483647

# A type is bit 32 * kind + element type of a set; maps are numbered in the last 32 bits (schema.cpp knows the same).
KINDS = ["tensor(%s)", "sparse_tensor(%s)", "seq(tensor(%s))", "optional(tensor(%s))", "optional(seq(tensor(%s)))"]
MAPS = ["map(int64, string)", "map(int64, float)", "map(int64, double)", "map(string, int64)", "map(string, float)",
        "map(string, double)", "seq(map(int64, float))", "seq(map(string, float))"]


def type_bits():
    bits = {text: 32 * len(KINDS) + i for i, text in enumerate(MAPS)}
    for number, name in ((v, k.lower()) for k, v in TensorProto.DataType.items() if k != "UNDEFINED"):
        assert number < 32, name
        for kind, pattern in enumerate(KINDS):
            bits[pattern % name] = 32 * kind + number
    return bits


class Pool:
    """Strings that end in NUL, stored once each and found by offset."""

    def __init__(self):
        self.offsets, self.size, self.order = {}, 0, []

    def at(self, text):
        if text not in self.offsets:
            self.offsets[text] = self.size
            self.order.append(text)
            self.size += len(text.encode()) + 1
        return self.offsets[text]


class Rows:
    """A flat array in which equal lists of rows are stored once."""

    def __init__(self):
        self.rows, self.starts = [], {}

    def at(self, rows):
        key = tuple(rows)
        if not key:
            return 0
        if key not in self.starts:
            self.starts[key] = len(self.rows)
            self.rows.extend(key)
        return self.starts[key]


class Table:
    def __init__(self, any_attributes):
        self.any_attributes = any_attributes  # {(domain, operator)}
        self.pool, self.bits = Pool(), type_bits()
        self.params, self.attributes, self.constraints = Rows(), Rows(), Rows()
        self.sets, self.integers, self.floats, self.strings = Rows(), Rows(), Rows(), Rows()
        self.schemas, self.names, self.functions, self.bodies = [], [], [], []
        self.domains = [self.pool.at(domain) for domain in DOMAINS]

    def type_set(self, names):
        words = [0] * 3
        for name in names:
            bit = self.bits[name]
            words[bit // 64] |= 1 << (bit % 64)
        return self.sets.at([tuple(words)])

    def param(self, p, constraints):
        type_str = p.type_str if hasattr(p, "type_str") else p.typeStr
        homogeneous = p.is_homogeneous if hasattr(p, "is_homogeneous") else p.isHomogeneous
        min_arity = getattr(p, "min_arity", 1)
        option = str(p.option).split(".")[-1]
        bound = [c.type_param_str for c in constraints]
        if type_str in bound:
            index = bound.index(type_str)
            types = self.type_set(constraints[index].allowed_type_strs)
        else:
            index, types = -1, self.type_set([type_str])
        return (self.pool.at(p.name), self.pool.at(type_str), types, index, "ParamOption::k" + option,
                "true" if homogeneous else "false", min(min_arity, 255))

    def default(self, value):
        """(first index in the array of its kind, count); a count of 0 means that there is no default."""
        kind = AttributeProto.AttributeType.Name(value.type)
        if kind == "UNDEFINED":
            return 0, 0
        arrays = {"INT": (self.integers, [value.i]), "INTS": (self.integers, list(value.ints)),
                  "FLOAT": (self.floats, [value.f]), "FLOATS": (self.floats, list(value.floats)),
                  "STRING": (self.strings, [self.pool.at(value.s.decode())]),
                  "STRINGS": (self.strings, [self.pool.at(s.decode()) for s in value.strings])}
        array, values = arrays[kind]  # a KeyError means that there is a new kind of default: add it
        assert values, value
        return array.at(values), len(values)

    def attribute(self, name, a):
        value = a.default_value if hasattr(a, "default_value") else AttributeProto.FromString(a._default_value)
        first, count = self.default(value)
        assert not count or value.type == int(a.type.value if hasattr(a.type, "value") else a.type), name
        kind = int(a.type.value if hasattr(a.type, "value") else a.type)
        return (self.pool.at(name), kind, "true" if a.required else "false", first, count)

    def add(self, s, standard):
        constraints = list(s.type_constraints)
        inputs = [self.param(p, constraints) for p in s.inputs]
        outputs = [self.param(p, constraints) for p in s.outputs]
        attributes = [self.attribute(n, a) for n, a in sorted(s.attributes.items())]
        bounds = [(self.pool.at(c.type_param_str), self.type_set(c.allowed_type_strs)) for c in constraints]
        bodies = self.function_rows(s) if standard else []
        flags = [f for f, on in (("kDeprecated", s.deprecated), ("kRuntimeOnly", not standard),
                                 ("kContextFunction", standard and s.has_context_dependent_function),
                                 ("kAnyAttributes", (s.domain, s.name) in self.any_attributes)) if on]
        self.names.append(f"{s.domain}{'.' if s.domain else ''}{s.name}-{s.since_version}")
        self.schemas.append((
            self.pool.at(s.name), DOMAINS.index(s.domain), s.since_version, " | ".join(flags) or "0",
            s.min_input, s.max_input, s.min_output, s.max_output,
            self.params.at(inputs), len(inputs), self.params.at(outputs), len(outputs),
            self.attributes.at(attributes), len(attributes), self.constraints.at(bounds), len(bounds),
            len(self.functions) - len(bodies), len(bodies)))

    def function_rows(self, s):
        rows = []
        for version in s.function_opset_versions:
            body = onnx.FunctionProto.FromString(s.get_function_with_opset_version(version))
            body.ClearField("doc_string")
            self.bodies.append(onnx.printer.to_text(body))
            rows.append((version, len(self.bodies) - 1))
        self.functions.extend(rows)
        return rows


def collect():
    """[(schema, whether it is in the ONNX standard)], sorted by domain index, name and version."""
    standard = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history()}
    extra = {(s.domain, s.name, s.since_version): s for s in runtime.get_all_operator_schema() if s.domain in RUNTIME_DOMAINS}
    found = [(s, True) for s in standard.values()]
    found += [(s, False) for key, s in extra.items() if key not in standard]
    found += [(s, False) for s in own_operators.schemas()]
    return sorted(found, key=lambda f: (DOMAINS.index(f[0].domain), f[0].name, f[0].since_version))


def takes_any_attribute(s):
    """Whether ONNX Runtime accepts attributes that the schema lacks. Only a model can show that."""
    if s.deprecated or (s.domain, s.name) == ("", "Constant"):  # Constant nodes are replaced before attributes are checked
        return False
    outputs = [f"y{i}" for i in range(max(s.min_output, 1))]
    node = helper.make_node(s.name, ["x"] * max(s.min_input, 1 if s.inputs else 0), outputs, domain=s.domain, surely_not=1)
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph([node], "g", [value], [helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid(s.domain, s.since_version)]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    try:
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return not any(text in str(error) for text in ("Unrecognized attribute: surely_not", "No Op registered", "opset"))
    return True


def operators_with_any_attribute():
    """{(domain, operator)} of ONNX Runtime."""
    return {(s.domain, s.name) for s in runtime.get_all_operator_schema() if s.domain in RUNTIME_DOMAINS and takes_any_attribute(s)}


def newest(schemas):
    versions = dict.fromkeys(DOMAINS, 1)
    for s, _ in schemas:
        versions[s.domain] = max(versions[s.domain], s.since_version)
    versions[""] = onnx.defs.onnx_opset_version()
    versions["ai.onnx.ml"] = onnx.defs.onnx_ml_opset_version()
    return versions


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def wrap(items, width=118):
    lines, line = [], ""
    for item in items:
        piece = item + ", "
        if len(line) + len(piece) > width and line:
            lines.append("  " + line.rstrip())
            line = ""
        line += piece
    return "\n".join(lines + (["  " + line.rstrip()] if line else []))


def number(value):
    if isinstance(value, float):
        return repr(value) + "f"
    if value == -2**63:
        return "(-9223372036854775807LL - 1)"
    return str(value) + ("LL" if abs(value) >= 2**31 else "")


def row(values):
    return "{" + ", ".join("kUnlimited" if v == UNLIMITED else str(v) for v in values) + "}"


def header(file, what):
    packages = f"onnx {ONNX_VERSION} and onnxruntime {RUNTIME_VERSION}"
    return f"// ops/schema/{file} - {what}\n// Generated by tools/schema/generate.py from {packages}; do not edit.\n\n"


def array(name, kind, items):
    return f"constexpr {kind} {name}[] = {{\n{wrap(items)}\n}};\n\n"


def write_table(table, versions, path):
    pool = "\n".join("  " + quote(text)[:-1] + '\\0"' for text in table.pool.order)
    out = header("schema_table.inc", "operator schemas as tables of offsets; read by schema.cpp.")
    assert table.pool.size < 65536
    out += f"constexpr char kPool[] =\n{pool};\n\n"
    domains = zip(table.domains, DOMAINS, strict=True)
    out += array("kDomains", "DomainRow", [row((at, versions[domain])) for at, domain in domains])
    out += array("kTypeSets", "TypeSet", ["{{" + ", ".join(f"{w:#x}u" for w in s) + "}}" for s in table.sets.rows])
    out += array("kDefaultIntegers", "std::int64_t", [number(v) for v in table.integers.rows])
    out += array("kDefaultFloats", "float", [number(v) for v in table.floats.rows])
    out += array("kDefaultStrings", "std::uint16_t", [number(v) for v in table.strings.rows])
    out += array("kParams", "FormalParam", [row(r) for r in table.params.rows])
    out += array("kAttributes", "AttributeSpec", [row(r) for r in table.attributes.rows])
    out += array("kConstraints", "TypeConstraint", [row(r) for r in table.constraints.rows])
    out += array("kFunctions", "FunctionRow", [row(r) for r in table.functions])
    out += "constexpr OpSchema kSchemas[] = {\n" + "\n".join(
        f"  {row(r)},  // {name}" for r, name in zip(table.schemas, table.names, strict=True)) + "\n};\n"
    with open(path, "w", encoding="utf-8") as f:
        f.write(out)


def write_functions(table, path):
    out = header("schema_functions.inc", "bodies of ONNX's function operators in the text syntax; read by schema.cpp.")
    out += "constexpr const char* kFunctionBodies[] = {\n"
    for body in table.bodies:
        assert ')onnx"' not in body
        out += f'R"onnx({body})onnx",\n'
    out += "};\n"
    with open(path, "w", encoding="utf-8") as f:
        f.write(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--out", default=os.path.join(here, "..", "..", "src", "ops", "schema"), help="the folder to write to")
    args = parser.parse_args()
    if (onnx.__version__, onnxruntime.__version__) != (ONNX_VERSION, RUNTIME_VERSION):
        sys.exit(f"expected onnx {ONNX_VERSION} and onnxruntime {RUNTIME_VERSION}, found {onnx.__version__} and "
                 f"{onnxruntime.__version__}; to move on, change the versions in {os.path.basename(__file__)}")
    schemas, table = collect(), Table(operators_with_any_attribute())
    for schema, standard in schemas:
        table.add(schema, standard)
    write_table(table, newest(schemas), os.path.join(args.out, "schema_table.inc"))
    write_functions(table, os.path.join(args.out, "schema_functions.inc"))
    print(f"{len(table.schemas)} schemas, {len(table.params.rows)} parameters, "
          f"{len(table.attributes.rows)} attributes, "
          f"{len(table.sets.rows)} type sets, {len(table.bodies)} function bodies, {table.pool.size} bytes of names")


if __name__ == "__main__":
    main()
