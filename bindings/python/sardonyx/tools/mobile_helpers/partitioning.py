"""Into how many parts a provider would cut a graph: groups of nodes that it takes and that do not wait for nodes in
between which it does not take."""
from __future__ import annotations

import logging
import os
from collections import deque
from enum import IntEnum

import onnx

from sardonyx.tools.onnx_model_utils import is_fixed_size_tensor


def operator_of(node):
    return f"{node.domain or 'ai.onnx'}:{node.op_type}"


class SupportedOperators:
    """The operators that a provider takes, with conditions that are not checked, and those of them that were met."""

    def __init__(self, operators):
        self._operators = {name if ":" in name else f"ai.onnx:{name}": condition
                           for name, condition in operators.items()}
        self._seen = set()

    def is_op_supported(self, node):
        name = operator_of(node)
        if name in self._operators:
            self._seen.add(name)
        return name in self._operators

    def get_caveats(self):
        return [f"{name}: {self._operators[name]}" for name in sorted(self._seen) if self._operators[name]]


class PartitioningInfo:
    """What a provider would take of a model: numbers of nodes and of parts, and why others stay."""

    class TryWithEP(IntEnum):
        NO = (0,)
        MAYBE = (1,)
        YES = 2

    def __init__(
        self,
        num_nodes: int,
        num_supported_nodes: int,
        num_partitions: int,
        supported_ops_checker: SupportedOperators,
        supported_groups: list[onnx.NodeProto],
        unsupported_ops: set[str],
        nodes_unsupported_due_to_op: int,
        nodes_unsupported_due_to_dynamic_input: int,
        num_unsupported_nodes_due_to_rank: int,
        ops_with_unsupported_rank: set[str],
    ):
        self.num_nodes, self.num_supported_nodes, self.num_partitions = num_nodes, num_supported_nodes, num_partitions
        self.supported_ops_checker, self.supported_groups = supported_ops_checker, supported_groups
        self.unsupported_ops, self.nodes_unsupported_due_to_op = unsupported_ops, nodes_unsupported_due_to_op
        self.nodes_unsupported_due_to_dynamic_input = nodes_unsupported_due_to_dynamic_input
        self.num_unsupported_nodes_due_to_rank = num_unsupported_nodes_due_to_rank
        self.ops_with_unsupported_rank = ops_with_unsupported_rank
        self.num_subgraphs = self.num_nodes_in_subgraphs = 0

    def merge(self, other: PartitioningInfo):
        """Adds what was found in a body."""
        for name in ("num_nodes", "num_supported_nodes", "num_partitions", "nodes_unsupported_due_to_op",
                     "nodes_unsupported_due_to_dynamic_input", "num_unsupported_nodes_due_to_rank"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.supported_groups.extend(other.supported_groups)
        self.unsupported_ops.update(other.unsupported_ops)
        self.ops_with_unsupported_rank.update(other.ops_with_unsupported_rank)
        self.num_subgraphs += 1
        self.num_nodes_in_subgraphs += other.num_nodes

    def _share(self):
        return self.num_supported_nodes / self.num_nodes * 100 if self.num_nodes else 0

    def suitability(self):
        """YES for one part with more than three quarters of the nodes; MAYBE for one with more than half, or two with
        more than three quarters: copies between devices cost more than is won otherwise."""
        share = self._share()
        if self.num_partitions == 1 and share > 75:
            return PartitioningInfo.TryWithEP.YES
        if (self.num_partitions == 1 and share > 50) or (self.num_partitions == 2 and share > 75):
            return PartitioningInfo.TryWithEP.MAYBE
        return PartitioningInfo.TryWithEP.NO

    def print_analysis(self, logger: logging.Logger, ep_name: str):
        """Logs what was found, by the provider's name."""
        logger.info(f"{ep_name} takes {self.num_supported_nodes} of {self.num_nodes} nodes in {self.num_partitions} "
                    f"parts ({self._share():.1f} %) of {', '.join(str(len(one)) for one in self.supported_groups)} "
                    "nodes")
        for group in self.supported_groups:
            logger.debug(f"a part: {', '.join(f'{node.op_type} {node.name}' for node in group)}")
        if self.nodes_unsupported_due_to_op:
            logger.info(f"{self.nodes_unsupported_due_to_op} nodes stay because of their operators: "
                        f"{', '.join(sorted(self.unsupported_ops))}")
        if self.nodes_unsupported_due_to_dynamic_input:
            logger.info(f"{self.nodes_unsupported_due_to_dynamic_input} nodes stay because the shapes of their inputs "
                        "are not known")
        if self.num_unsupported_nodes_due_to_rank:
            logger.info(f"{self.num_unsupported_nodes_due_to_rank} nodes stay because of the ranks of their inputs: "
                        f"{', '.join(sorted(self.ops_with_unsupported_rank))}")
        if self.num_subgraphs:
            logger.info(f"{self.num_nodes_in_subgraphs} nodes lie in {self.num_subgraphs} bodies of control flow, "
                        "which the provider may not take")
        conditions = self.supported_ops_checker.get_caveats()
        if conditions:
            logger.info(os.linesep.join(["conditions that were not checked:", *(f"     {one}" for one in conditions)]))
        verdict = {PartitioningInfo.TryWithEP.YES: "suits this model well", PartitioningInfo.TryWithEP.MAYBE:
                   "may suit this model: measure", PartitioningInfo.TryWithEP.NO: "does not suit this model"}
        logger.info(f"{ep_name} {verdict[self.suitability()]}")


class Partitioning:
    """The search in one graph; see check_partitioning. `links`: the maps of get_producer_consumer_maps. `outer`: names
    of initializers of the graphs around."""

    def __init__(self, graph, links, operators, outer, needs_fixed_sizes, values, max_rank):
        self.graph, (self.producers, self.consumers), self.operators = graph, links, operators
        self.constant = {one.name for one in graph.initializer} | set(outer)
        self.needs_fixed_sizes, self.values, self.max_rank = needs_fixed_sizes, values, max_rank
        self.groups, self.group, self.border = [], [], set()
        self.supported, self.by_operator, self.by_shape, self.by_rank = 0, 0, 0, 0
        self.missing, self.too_high = set(), set()

    def found(self):
        waits_for = {node: len(self.producers.get(node, ())) for node in self.graph.node}
        ready, later = deque(node for node, count in waits_for.items() if count == 0), deque()
        while ready or later:
            if not ready:  # what stands behind nodes that are not taken begins another part
                self._close()
                ready, later = later, deque()
                continue
            node = ready.popleft()
            faults = self._faults(node)
            if any(faults) and node in self.border:
                later.append(node)
                continue
            self._count(node, faults)
            for reader in self.consumers.get(node, ()):
                waits_for[reader] -= 1
                if waits_for[reader] == 0:
                    ready.append(reader)
        self._close()
        return PartitioningInfo(len(self.graph.node), self.supported, len(self.groups), self.operators, self.groups,
                                self.missing, self.by_operator, self.by_shape, self.by_rank, self.too_high)

    def _close(self):
        if self.group:
            self.groups.append(self.group)
        self.group, self.border = [], set()

    def _faults(self, node):
        """Whether a node stays because of (its operator, a shape, a rank)."""
        unknown = self.needs_fixed_sizes and not all(map(self._has_fixed_size, node.input))
        return not self.operators.is_op_supported(node), unknown, self._is_rank_too_high(node)

    def _has_fixed_size(self, name):
        if name in self.values:
            return is_fixed_size_tensor(self.values[name])
        return name in self.constant

    def _is_rank_too_high(self, node):
        if node.op_type == "Transpose" and any(len(one.ints) > self.max_rank for one in node.attribute):
            return True
        known = [self.values[name].type for name in node.input if name in self.values]
        return any(kind.HasField("tensor_type") and len(kind.tensor_type.shape.dim) > self.max_rank for kind in known)

    def _count(self, node, faults):
        if not any(faults):
            self.supported += 1
            self.group.append(node)
            self.border.discard(node)
            self.border.update(self.consumers.get(node, ()))
            return
        by_operator, by_shape, by_rank = faults
        self.by_operator, self.by_shape, self.by_rank = (
            self.by_operator + by_operator, self.by_shape + by_shape, self.by_rank + by_rank)
        if by_operator:
            self.missing.add(operator_of(node))
        if by_rank:
            self.too_high.add(operator_of(node))
