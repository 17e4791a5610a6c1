"""Types and shapes of all values of a model, with symbols for what is not known before it runs: the class of
onnxruntime.tools.symbolic_shape_infer, on Sardonyx's own inference.

usage: python -m sardonyx.symbolic_shape_infer --input MODEL --output MODEL [--guess_output_rank] [--verbose N]
       [--save_as_external_data [--external_data_location NAME] [--external_data_size_threshold BYTES]]"""
import argparse
import logging
import sys

from sardonyx.model import Model
from sardonyx.shape_protos import (  # noqa: F401
    as_list,
    as_scalar,
    get_attribute,
    get_dim_from_proto,
    get_elem_type_from_type_proto,
    get_opset,
    get_shape_from_sympy_shape,
    get_shape_from_type_proto,
    get_shape_from_value_info,
    handle_negative_axis,
    is_literal,
    is_sequence,
    make_named_value_info,
    sympy_reduce_product,
)

_logger = logging.getLogger(__name__)
_LARGE = 1 << 30  # bytes of weights


class SymbolicShapeInference:
    """`int_max`, `auto_merge`: have no effect, as slices of any size are inferred, and symbols that must be the same
    are taken for one. `guess_output_rank`: outputs of operators that are not known have the rank of the first input.
    `verbose`: 1 and more logs what is not inferred."""

    def __init__(self, int_max, auto_merge, guess_output_rank, verbose, prefix=""):
        self.int_max_, self.auto_merge_, self.guess_output_rank_ = int_max, auto_merge, guess_output_rank
        self.verbose_, self.prefix_ = verbose, prefix

    @staticmethod
    def infer_shapes(in_mp, int_max=2**31 - 1, auto_merge=False, guess_output_rank=False, verbose=0):
        """An onnx.ModelProto with value_info for all values; of one, of a path or of a sardonyx.model.Model.

        Errors: RuntimeError where the rank of a value does not follow, which names the node."""
        made = Model(in_mp)
        made.infer_types()
        _infer_from_folded(made)
        SymbolicShapeInference(int_max, auto_merge, guess_output_rank, verbose).complete(made)
        proto = made.to_proto()
        for output in proto.graph.output:
            _name_dimensions(output, made.graph.type_of(output.name))
        return proto

    def complete(self, made):
        """Guesses what operators make that are not known, and infers again what follows; checks that all is known."""
        if self.guess_output_rank_:
            while (node := self._first_unknown(made.graph)) is not None:
                known = made.graph.type_of(node.inputs[0]) if node.inputs else None
                if known is None or known.shape is None:
                    break
                for name in node.outputs:
                    if name and not _has_rank(made.graph, name):
                        made.graph.set_type(name, known.dtype, (None,) * len(known.shape))
                made.infer_types()
        node = self._first_unknown(made.graph)
        if node is not None:
            message = (f"{node!r}: the shape of its output does not follow from the model; if the operator is not "
                       "known, guess_output_rank takes that of its first input")
            if self.verbose_ > 0:
                _logger.warning(message)
            raise RuntimeError(message)

    @staticmethod
    def _first_unknown(graph):
        return next((node for node in graph.nodes
                     for name in node.outputs if name and not _has_rank(graph, name)), None)


def _infer_from_folded(made):
    """Numbers that follow from constants of any form, as the pads do that PyTorch reshapes and turns around: from a
    copy in which constants are folded. A model that no copy in memory holds stays as it is."""
    graph = made.graph
    if all(_is_known(graph.type_of(name)) for node in graph.nodes for name in node.outputs if name):
        return
    if sum(known.size for known in graph.initializers.values()) > _LARGE:
        return
    folded = Model(made)
    folded.optimize("basic")
    folded.infer_types()
    for node in folded.graph.nodes:
        for name in node.outputs:
            known = folded.graph.type_of(name) if name else None
            before = graph.type_of(name) if name and graph.producer(name) is not None else None
            if _is_known(known) and before is not None and before.dtype == known.dtype and not _is_known(before):
                graph.set_type(name, known.dtype, known.shape)
    made.infer_types()


def _name_dimensions(output, known):
    """Exporters make up symbols for the dimensions of outputs: what follows from inputs stands for them."""
    for dim, size in zip(output.type.tensor_type.shape.dim, (known and known.shape) or ()):
        if dim.HasField("dim_param") and isinstance(size, str):
            dim.dim_param = size


def _is_known(known):
    """Whether each dimension is a number or a symbol."""
    return known is not None and known.shape is not None and None not in known.shape


def _has_rank(graph, name):
    known = graph.type_of(name)
    return known is not None and (known.shape is not None or "(" in known.dtype)  # sequences and maps have none


def parse_arguments():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--input", required=True, help="the model")
    parser.add_argument("--output", help="where the model is written with its shapes")
    parser.add_argument("--auto_merge", action="store_true", help="has no effect: equal symbols are one")
    parser.add_argument("--int_max", type=int, default=2**31 - 1, help="has no effect: slices of any size are inferred")
    parser.add_argument("--guess_output_rank", action="store_true",
                        help="outputs of operators that are not known have the rank of the first input")
    parser.add_argument("--verbose", type=int, default=0, help="1: log what is not inferred")
    parser.add_argument("--save_as_external_data", action="store_true", help="weights lie in a file beside the model")
    parser.add_argument("--all_tensors_to_one_file", action="store_true", help="has no effect: they always do")
    parser.add_argument("--external_data_location", help="the name of that file; MODEL.data if it is not given")
    parser.add_argument("--external_data_size_threshold", type=int, default=1024,
                        help="smaller weights stay in the model")
    return parser.parse_args()


def main():
    options = parse_arguments()
    made = Model(options.input)
    made.infer_types()
    _infer_from_folded(made)
    try:
        SymbolicShapeInference(options.int_max, options.auto_merge, options.guess_output_rank,
                               options.verbose).complete(made)
    except RuntimeError as failure:
        sys.exit(f"{options.input}: {failure}")
    if options.output:
        beside = options.external_data_location or f"{options.output.rsplit('/', 1)[-1]}.data"
        made.save(options.output, beside if options.save_as_external_data else None,
                  options.external_data_size_threshold)


if __name__ == "__main__":
    main()
