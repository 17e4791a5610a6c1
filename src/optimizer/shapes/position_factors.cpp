// optimizer/shapes/position_factors.cpp - recognizes integers that count the places at which they stand.
//
// Exporters compute indices of a mask or of rows in a table: Range, with axes of size 1 put in, times the length of a
// row, and sums of such counts. Each is a sum of places times factors, which are symbolic as sizes are.
#include "optimizer/shapes/position_factors.h"

#include <algorithm>

#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr int kDeepest = 16;  // nodes above one another
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;

bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }

std::int64_t ElementAt(const Tensor& constant, std::int64_t i) {
  return constant.dtype() == DType::kInt64 ? constant.data<std::int64_t>()[i] : constant.data<std::int32_t>()[i];
}

class Counting {
 public:
  using Factors = std::optional<std::vector<Dim>>;
  explicit Counting(const Graph& graph) : graph_(graph) {}

  Factors Of(ValueId value, int depth) const {
    if (value == kNoValue || depth > kDeepest) return std::nullopt;
    const Type& type = graph_.value(value).type;
    if (!type.is_tensor() || !type.has_rank || (type.dtype != DType::kInt64 && type.dtype != DType::kInt32))
      return std::nullopt;
    Factors found;
    if (const Tensor* constant = graph_.value(value).constant()) {
      found = OfConstant(*constant);
    } else {
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNoNode || IsForeign(graph_.node(producer)) || !graph_.node(producer).domain.empty())
        return std::nullopt;
      found = OfNode(graph_.node(producer), type.dims, depth);
    }
    if (!found || found->size() != type.rank()) return std::nullopt;
    for (std::size_t i = 0; i < found->size(); ++i)
      if (IsOne(type.dims[i])) (*found)[i] = Dim(0);
    return found;
  }

 private:
  const std::vector<Dim>& DimsOf(ValueId value) const { return graph_.value(value).type.dims; }

  static Factors OfConstant(const Tensor& constant) {
    const Shape& shape = constant.shape();
    if (constant.count() == 0 || constant.count() > kMostElements) return std::nullopt;
    std::vector<std::int64_t> factors(shape.rank(), 0);
    std::int64_t stride = 1;
    for (std::size_t i = shape.rank(); i-- > 0; stride *= shape[i])
      if (shape[i] > 1) factors[i] = ElementAt(constant, stride);
    if (!FollowsFactors(constant, 0, 1, shape, factors)) return std::nullopt;
    return std::vector<Dim>(factors.begin(), factors.end());
  }

  Factors OfNode(const Node& node, const std::vector<Dim>& dims, int depth) const {
    const std::string& op = node.op_type;
    if (op == "Range") {
      if (ScalarOf(graph_, node.inputs[0]) != 0.0 || ScalarOf(graph_, node.inputs[2]) != 1.0) return std::nullopt;
      return std::vector<Dim>{Dim(1)};
    }
    if (op == "Cast" || op == "Identity") return Of(node.inputs[0], depth + 1);
    if (op == "Slice") return BeginsAtZero(node) ? Of(node.inputs[0], depth + 1) : std::nullopt;
    if (op == "Expand") return Widened(node.inputs[0], dims, depth);
    if (op == "Reshape" || op == "Unsqueeze" || op == "Squeeze" || op == "Flatten")
      return Moved(Of(node.inputs[0], depth + 1), DimsOf(node.inputs[0]), dims);
    if (op == "Add") return Sum(Widened(node.inputs[0], dims, depth), Widened(node.inputs[1], dims, depth));
    if (op == "Mul") {
      for (const std::size_t i : {0u, 1u})
        if (const auto size = SizeOf(node.inputs[1 - i])) return Product(Widened(node.inputs[i], dims, depth), *size);
    }
    return std::nullopt;
  }

  bool BeginsAtZero(const Node& node) const {
    const auto begins = IntsOf(graph_, node.inputs[1]);
    const auto are = [](const std::vector<std::int64_t>& list, std::int64_t number) {
      return std::all_of(list.begin(), list.end(), [&](std::int64_t each) { return each == number; });
    };
    if (!begins || !are(*begins, 0)) return false;
    if (node.inputs.size() < 5 || node.inputs[4] == kNoValue) return true;
    const auto steps = IntsOf(graph_, node.inputs[4]);
    return steps && are(*steps, 1);
  }

  // The number in a tensor of one element.
  std::optional<Dim> SizeOf(ValueId value) const {
    if (const auto numbers = IntsOf(graph_, value))
      return numbers->size() == 1 ? std::optional(Dim(numbers->front())) : std::nullopt;
    const auto& data = graph_.value(value).shape_data;
    if (!data || data->size() != 1 || data->front().unknown()) return std::nullopt;
    return data->front();
  }

  // Broadcast to `dims`. An axis whose places count must be there already: one that is repeated counts no places, and
  // of sizes with two names one may be 1.
  Factors Widened(ValueId value, const std::vector<Dim>& dims, int depth) const {
    Factors factors = Of(value, depth + 1);
    if (!factors || factors->size() > dims.size()) return std::nullopt;
    const std::size_t added = dims.size() - factors->size();
    for (std::size_t i = 0; i < factors->size(); ++i)
      if (!SameDim((*factors)[i], Dim(0)) && !SameDim(DimsOf(value)[i], dims[added + i])) return std::nullopt;
    factors->insert(factors->begin(), added, Dim(0));
    return factors;
  }

  // Axes of size 1 come and go; the others keep their order.
  static Factors Moved(const Factors& factors, const std::vector<Dim>& from, const std::vector<Dim>& to) {
    if (!factors) return std::nullopt;
    std::vector<Dim> moved;
    std::size_t at = 0;
    for (const Dim& size : to) {
      if (IsOne(size)) {
        moved.emplace_back(0);
        continue;
      }
      while (at < from.size() && IsOne(from[at])) ++at;
      if (at == from.size() || !SameDim(from[at], size)) return std::nullopt;
      moved.push_back((*factors)[at++]);
    }
    while (at < from.size() && IsOne(from[at])) ++at;
    return at == from.size() ? Factors(moved) : std::nullopt;
  }

  static Factors Sum(Factors a, const Factors& b) {
    if (!a || !b) return std::nullopt;
    for (std::size_t i = 0; i < a->size(); ++i) (*a)[i] = (*a)[i] + (*b)[i];
    return a;
  }

  static Factors Product(Factors factors, const Dim& size) {
    if (!factors) return std::nullopt;
    for (Dim& factor : *factors) factor = factor * size;
    return factors;
  }

  const Graph& graph_;
};

}  // namespace

std::optional<std::vector<Dim>> PositionFactors(const Graph& graph, ValueId value) {
  return Counting(graph).Of(value, 0);
}

bool FollowsFactors(const Tensor& constant, std::int64_t from, std::int64_t step, Dims shape,
                    const std::vector<std::int64_t>& factors) {
  std::vector<std::int64_t> place(shape.size(), 0);
  for (std::int64_t i = from; i < constant.count(); i += step) {
    std::int64_t wanted = 0, product = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (__builtin_mul_overflow(factors[axis], place[axis], &product) ||
          __builtin_add_overflow(wanted, product, &wanted))
        return false;
    if (ElementAt(constant, i) != wanted) return false;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++place[axis] < shape[axis]) break;
      place[axis] = 0;
    }
  }
  return true;
}

}  // namespace sardonyx::optimizer
