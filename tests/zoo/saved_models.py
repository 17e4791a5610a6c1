"""tests/zoo/saved_models.py - checks the models that sessions save at each level, and that the author's nodes run.

A saved model must be valid, import one opset for each domain, keep the author's metadata, give the same bits when it is
loaded again, leave nothing to optimize, and run in ONNX Runtime if that has all its operators. Without optimizations,
every node of the author's graph must run.
"""
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import check_model  # noqa: E402
import model_zoo  # noqa: E402
import peer  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()

LEVELS = {"disable": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED",
          "all": "ORT_ENABLE_ALL"}
STANDARD = ("", "ai.onnx", "ai.onnx.ml")
KNOWN_TO_ALL = (*STANDARD, "com.microsoft")
# com.ms.internal.nhwc: operators on images whose channels are the last axis (docs/saved_models.md), at the level all.
DOCUMENTED = {"all": (*KNOWN_TO_ALL, "ai.sardonyx", "com.ms.internal.nhwc")}


def nodes_of(graph):
    """The nodes of a graph and of everything inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from nodes_of(body)


def all_nodes(model):
    yield from nodes_of(model.graph)
    for function in model.functions:
        yield from nodes_of(function)


def operators(model):
    """How often each operator stands in a model. Functions of ai.sardonyx say what an operator means, for others."""
    nodes = list(nodes_of(model.graph))
    for function in model.functions:
        nodes += nodes_of(function) if function.domain != "ai.sardonyx" else []
    return dict(collections.Counter(f"{node.domain}.{node.op_type}".lstrip(".") for node in nodes))


def options_of(engine, level, path=None):
    """The options of a session; with `path`, of one that saves its graph there and the weights beside it."""
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    zoo_cases.sum_exactly(engine, options)
    if path:
        options.optimized_model_filepath = str(path)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", path.stem + ".data")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    return options


def save(engine, source, level, folder):
    """A session that saved its graph, the model without its weights, and where it lies."""
    import onnx

    path = pathlib.Path(folder) / f"{engine.__name__}_{level}_{pathlib.Path(source).stem}.onnx"
    session = engine.InferenceSession(str(source), options_of(engine, level, path), providers=["CPUExecutionProvider"])
    return session, onnx.load(str(path), load_external_data=False), path


def import_problems(model, author):
    domains = collections.Counter("" if it.domain == "ai.onnx" else it.domain for it in model.opset_import)
    yield from (f"{count} opsets of '{domain}'" for domain, count in domains.items() if count > 1)
    theirs = {"" if it.domain == "ai.onnx" else it.domain: it.version for it in author.opset_import}
    for it in model.opset_import:
        if it.version < theirs.get("" if it.domain == "ai.onnx" else it.domain, 0):
            yield f"opset {it.version} of '{it.domain}' is older than the author's"
    missing = {node.domain for node in all_nodes(model)} - {it.domain for it in model.opset_import} - {""}
    yield from (f"no opset of '{domain}' is imported" for domain in missing)


def checkers_complaint(path, full):
    """What onnx.checker says against a model; "" if nothing."""
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=full)
    except Exception as error:  # ValidationError, InferenceError, and whatever the checker dies of
        return str(error).strip().splitlines()[0][:300]
    return ""


def format_problems(model, path, author, author_path, level):
    yield from import_problems(model, author)
    used = {node.domain for node in all_nodes(model)}
    yield from (f"operators of '{domain}'" for domain in used - set(DOCUMENTED.get(level, DOCUMENTED["all"][:-1])))
    complaint = checkers_complaint(path, used <= set(STANDARD))
    if complaint and not checkers_complaint(author_path, False):
        yield f"onnx.checker: {complaint}"
    names = [node.name for node in all_nodes(model) if node.name]
    yield from (f"{count} nodes '{name}'" for name, count in collections.Counter(names).items() if count > 1)
    metadata = [{it.key: it.value for it in each.metadata_props} for each in (model, author)]
    if metadata[0] != metadata[1] or model.producer_name != author.producer_name:
        yield "other metadata than the author's"
    for kind in ("input", "output"):
        ports = [[port.name for port in getattr(each.graph, kind)] for each in (model, author)]
        if kind == "input":  # inputs with defaults may be left out where opsets allow it
            ports[1] = [name for name in ports[1] if name in ports[0] or name not in {
                it.name for it in author.graph.initializer}]
        if ports[0] != ports[1]:
            yield f"other {kind}s than the author's"


def open_with_peer(onnxruntime, path):
    """Without VNNI, ONNX Runtime 1.31.1 widens int8 weights for its exact sums, and fails where two nodes share one. It
    then runs without optimizations: in float, where nothing overflows."""
    try:
        return zoo_cases.open_session(onnxruntime, path, "ORT_ENABLE_ALL")
    except Exception as error:
        if "Attempt to replace the existing tensor" not in str(error):
            raise
        return zoo_cases.open_session(onnxruntime, path, "ORT_DISABLE_ALL")


def value_problems(name, model, path, level, feed, theirs):
    """`theirs`: what ONNX Runtime computes from the author's model."""
    import onnxruntime

    used = {node.domain for node in all_nodes(model) if node.domain != "ai.sardonyx" or not node.overload}
    if not used <= set(KNOWN_TO_ALL):  # operators of ai.sardonyx with an overload have a function
        return
    try:
        session = open_with_peer(onnxruntime, path)
        got = zoo_cases.run(session, feed)
    except Exception as error:  # whatever it is, it is the answer
        yield f"ONNX Runtime: {str(error).splitlines()[0][:300]}"
        return
    for output, found in zoo_cases.compare(name, got, theirs).items():
        row = check_model.judged(name, level, "", output, found)
        if row["problem"]:
            yield f"ONNX Runtime, '{output}': {row['problem']}"


def again_problems(model, path, level, folder, feed, want):
    import sardonyx

    try:
        session, second, second_path = save(sardonyx, path, LEVELS[level], folder)
        got = zoo_cases.run(session, feed)
    except Exception as error:
        yield f"does not load again: {str(error).splitlines()[0][:300]}"
        return
    yield from (f"loaded again, '{name}' has other bits" for name in want if not check_model.same_bits(got[name],
                                                                                                       want[name]))
    before, after = operators(model), operators(second)
    changes = [f"{op} {before.get(op, 0)} -> {after.get(op, 0)}" for op in sorted({*before, *after})
               if before.get(op, 0) != after.get(op, 0)]
    if changes:
        yield f"optimized again: {', '.join(changes)}"
    remove(second_path)


def remove(path):
    path.unlink()
    path.with_suffix(".data").unlink(missing_ok=True)


def problems(name, folder):
    """What is wrong with the saved models of a model of the zoo, in words."""
    import onnx
    import onnxruntime
    import sardonyx

    source = model_zoo.path(name)
    author = onnx.load(str(source), load_external_data=False)
    feed = model_zoo.inputs(name)
    theirs = zoo_cases.run(zoo_cases.open_session(onnxruntime, source, "ORT_ENABLE_ALL"), feed)
    found = []
    for level, constant in LEVELS.items():
        try:
            session, model, path = save(sardonyx, source, constant, folder)
        except Exception as error:
            found.append(f"{level}: {str(error).splitlines()[0][:300]}")
            continue
        want = zoo_cases.run(session, feed)
        del session
        for text in [*format_problems(model, path, author, source, level),
                     *value_problems(name, model, path, level, feed, theirs),
                     *again_problems(model, path, level, folder, feed, want)]:
            found.append(f"{level}: {text}")
        remove(path)
    return found


# ---- Without optimizations every node of the author runs


def is_rounding(node):
    """A Cast between float and float16: chains of float16 compute in float at every level (docs/optimizer.md)."""
    return node.op_type == "Cast" and any(it.name == "to" and it.i in (1, 10) for it in node.attribute)


def expected_nodes(graph, functions, half):
    """How often each operator stands in a graph without its bodies, calls of functions replaced by their nodes."""
    found = collections.Counter()
    for node in graph.node:
        called = functions.get((node.domain, node.op_type, getattr(node, "overload", "")))
        if called is not None:
            found += expected_nodes(called, functions, half)
        elif not (half and is_rounding(node)) and (node.op_type != "Constant" or node.domain not in STANDARD):
            found[node.op_type] += 1
    return found


def bodies_of(graph):
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                if body.node:
                    yield body
                    yield from bodies_of(body)


def missing_nodes(name, folder):
    """What of the author's graph a profile of a run without optimizations does not show, in words."""
    import onnx
    import sardonyx

    source = model_zoo.path(name)
    author = onnx.load(str(source), load_external_data=False)
    options = options_of(sardonyx, LEVELS["disable"])
    options.enable_profiling = True
    options.profile_file_prefix = str(pathlib.Path(folder) / "profile")
    session = sardonyx.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    session.run(None, model_zoo.inputs(name))
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    shown = [event["args"] for event in events if event.get("cat") == "Node"]
    functions = {(it.domain, it.name, getattr(it, "overload", "")): it for it in author.functions}
    half = any(it.data_type == onnx.TensorProto.FLOAT16 for it in author.graph.initializer)
    ran = collections.Counter(row["op_name"] for row in shown)
    found = [f"{count} {op}, ran {ran[op]}" for op, count in expected_nodes(author.graph, functions, half).items()
             if ran[op] < count]
    seen = {("output", output) for row in shown for output in row["outputs"] if output}
    seen |= {("node", row["node"]) for row in shown if row["node"]}  # values of float16 chains have other names

    def is_shown(node):
        return ("node", node.name) in seen or any(("output", output) in seen for output in node.output if output)

    plain = [node for node in author.graph.node if (node.domain, node.op_type) not in
             {(domain, op) for domain, op, _ in functions} and node.op_type != "Constant"
             and not (half and is_rounding(node))]
    found += [f"'{node.name}' ({node.op_type})" for node in plain
              if not is_shown(node)]
    for body in bodies_of(author.graph):  # a branch that was not taken, or a loop without iterations, shows nothing
        nodes = [node for node in body.node if node.op_type != "Constant"]
        absent = [node for node in nodes if not is_shown(node)]
        if absent and len(absent) < len(nodes):
            found.append(f"'{absent[0].name}' ({absent[0].op_type}) of body '{body.name}'")
    return found
