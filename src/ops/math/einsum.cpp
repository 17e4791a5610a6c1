// ops/math/einsum.cpp - Einsum: two operands are contracted at a time, the cheapest ones first, each step one
// batched matrix product.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/product.h"
#include "ops/registry.h"
#include "ops/shapes/einsum_equation.h"

namespace sardonyx::ops {
namespace {

// Whether tensors of `Stored` are summed in T.
template <typename T, typename Stored>
constexpr bool kStoredAs =
    std::is_same_v<T, float> ? !std::is_integral_v<Stored> : std::is_integral_v<T> && std::is_integral_v<Stored>;

constexpr std::size_t kMaxOperands = EinsumEquation::kMaxOperands;

std::string ReadEquation(const AttributeReader& c) {
  std::string text = c.String("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

void InferEinsum(InferContext& c) {
  const std::string text = ReadEquation(c);
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (!c.HasRank(i)) return c.SetOutput(0, c.InputDType(0));
    ranks.push_back(c.Rank(i));
  }
  const EinsumEquation e = ParseEinsum(text, ranks);
  std::vector<Dim> sizes(EinsumEquation::kLabels);
  for (std::size_t i = 0; i < e.count; ++i) {
    for (std::size_t axis = 0; axis < e.operands[i].rank; ++axis) {
      Dim& size = sizes[e.operands[i].labels[axis]];
      const Dim& mine = c.InputDims(i)[axis];
      const bool one = mine.known() && mine.number() == 1;
      if (size.known() && size.number() != 1 && mine.known() && !one && mine.number() != size.number()) {
        c.Fail(Code::kInvalidArgument, "expected one size for each label of '", text, "', found ", size.number(),
               " and ", mine.number());
      }
      if (size.unknown() || (size.known() && size.number() == 1) || (mine.known() && !one)) size = mine;
    }
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < e.output.rank; ++i) dims.push_back(sizes[e.output.labels[i]]);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// An array with a stride for each label (0 where it has none or repeats one element).
struct View {
  DType dtype = DType::kUndefined;
  const void* data = nullptr;
  std::array<std::int64_t, EinsumEquation::kLabels> stride = {};
  std::array<bool, EinsumEquation::kLabels> has = {};
};

// A list of labels with the product of their sizes.
struct Labels {
  std::array<int, EinsumEquation::kLabels> list = {};
  std::size_t count = 0;
  std::int64_t size = 1;
};

// Hands out memory of one block; without a block it only measures.
class Bump {
 public:
  explicit Bump(std::byte* block) : block_(block) {}
  template <typename T>
  T* Take(std::int64_t count) {
    const std::size_t offset = layout_.Add<T>(static_cast<std::size_t>(count));
    return block_ == nullptr ? nullptr : static_cast<T*>(static_cast<void*>(block_ + offset));
  }
  std::size_t bytes() const { return layout_.bytes(); }
  bool measuring() const { return block_ == nullptr; }

 private:
  std::byte* block_;
  ScratchLayout layout_;
};

template <typename T>
class Runner {
 public:
  Runner(KernelContext& c, const EinsumEquation& e) : c_(c), e_(e) {
    sizes_.fill(1);
    for (std::size_t i = 0; i < e.count; ++i) {
      for (std::size_t axis = 0; axis < e.operands[i].rank; ++axis) {
        std::int64_t& size = sizes_[e.operands[i].labels[axis]];
        const std::int64_t mine = c.Input(i).dim(axis);
        if (size != 1 && mine != 1 && mine != size) {
          Fail(Code::kInvalidArgument, "expected one size for each label, found ", size, " and ", mine, " in operand ",
               i);
        }
        if (mine != 1) size = mine;
      }
    }
  }

  // Everything but a last copy where the sums do not lie in y, the memory of the output, in its order. Of several
  // operands those two are contracted next that take the fewest multiplications.
  View Execute(Bump& memory, T* y) {
    std::array<View, kMaxOperands> views;
    std::size_t count = e_.count;
    for (std::size_t i = 0; i < count; ++i) views[i] = MakeView(i);
    if (count == 1) return SumsNothing(views[0]) ? views[0] : Contract(memory, views[0], One(), OutputLabels(), y);
    while (true) {
      const auto [i, j] = Cheapest({views.data(), count});
      if (count == 2) return Contract(memory, views[i], views[j], OutputLabels(), y);
      std::array<bool, EinsumEquation::kLabels> kept = OutputLabels();
      for (std::size_t k = 0; k < count; ++k)
        for (std::size_t label = 0; k != i && k != j && label < kept.size(); ++label)
          kept[label] |= views[k].has[label];
      views[i] = Contract(memory, views[i], views[j], kept, nullptr);
      std::move(views.begin() + static_cast<std::ptrdiff_t>(j) + 1, views.begin() + static_cast<std::ptrdiff_t>(count),
                views.begin() + static_cast<std::ptrdiff_t>(j));
      --count;
    }
  }

  void StoreOutput(const View& sum, T* y) {
    Labels all;
    for (std::size_t i = 0; i < e_.output.rank; ++i) Append(all, e_.output.labels[i]);
    if (sum.data != y) Copy(sum, all, y);
  }

 private:
  View MakeView(std::size_t i) const {
    View v;
    v.dtype = c_.Input(i).dtype;
    v.data = c_.Input(i).data;
    std::int64_t step = 1;
    for (std::size_t axis = e_.operands[i].rank; axis-- > 0;) {
      const int label = e_.operands[i].labels[axis];
      v.has[label] = true;
      if (c_.Input(i).dim(axis) != 1) v.stride[label] += step;  // a label twice in one operand: its diagonal
      step *= c_.Input(i).dim(axis);
    }
    return v;
  }
  static View One() {
    static const T kOne = 1;
    View v;
    v.dtype = kDTypeOf<T>;
    v.data = &kOne;
    return v;
  }

  void Append(Labels& labels, int label) const {
    labels.list[labels.count++] = label;
    labels.size *= sizes_[label];
  }
  std::array<bool, EinsumEquation::kLabels> OutputLabels() const {
    std::array<bool, EinsumEquation::kLabels> labels = {};
    for (std::size_t i = 0; i < e_.output.rank; ++i) labels[static_cast<std::size_t>(e_.output.labels[i])] = true;
    return labels;
  }
  bool SumsNothing(const View& v) const {
    const auto kept = OutputLabels();
    for (std::size_t label = 0; label < kept.size(); ++label)
      if (v.has[label] && !kept[label]) return false;
    return true;
  }
  // The two views, the first one first, whose labels make the fewest products; of equal ones the first.
  std::pair<std::size_t, std::size_t> Cheapest(std::span<const View> views) const {
    std::pair<std::size_t, std::size_t> best = {0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; views.size() > 2 && i < views.size(); ++i) {
      for (std::size_t j = i + 1; j < views.size(); ++j) {
        double products = 1;
        for (std::size_t label = 0; label < sizes_.size(); ++label)
          if (views[i].has[label] || views[j].has[label]) products *= static_cast<double>(sizes_[label]);
        if (products < least) least = products, best = {i, j};
      }
    }
    return best;
  }
  bool IsOutputOrder(const Labels& labels) const {
    if (labels.count != e_.output.rank) return false;
    for (std::size_t i = 0; i < labels.count; ++i)
      if (labels.list[i] != e_.output.labels[i]) return false;
    return true;
  }

  // to[...] = from over `labels`, the last one fastest.
  template <typename From>
  void CopyFrom(const View& from, const Labels& labels, T* to) {
    const From* data = static_cast<const From*>(from.data);
    const std::int64_t inner = labels.count == 0 ? 1 : sizes_[labels.list[labels.count - 1]];
    const std::int64_t inner_stride = labels.count == 0 ? 0 : from.stride[labels.list[labels.count - 1]];
    if (labels.size == 0) return;
    const std::int64_t grain = std::max<std::int64_t>(1, 8192 / inner);
    c_.parallel().For(labels.size / inner, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t rest = row, at = 0;
        for (std::size_t i = labels.count == 0 ? 0 : labels.count - 1; i-- > 0;) {
          const std::int64_t size = sizes_[labels.list[i]];
          at += rest % size * from.stride[labels.list[i]];
          rest /= size;
        }
        for (std::int64_t k = 0; k < inner; ++k) to[row * inner + k] = static_cast<T>(data[at + k * inner_stride]);
      }
    });
  }
  void Copy(const View& from, const Labels& labels, T* to) {
    if (from.dtype == kDTypeOf<T>) {
      kernels::StridedLoops loops;
      bool fits = true;
      std::int64_t step = labels.size;
      for (std::size_t i = 0; labels.size != 0 && i < labels.count; ++i) {
        step /= sizes_[labels.list[i]];
        fits = fits && loops.Add(sizes_[labels.list[i]], from.stride[labels.list[i]], step);
      }
      if (labels.size == 0) return;
      if (fits) return kernels::StridedCopy(from.dtype, loops, from.data, 0, to, 0, c_.parallel());
      return CopyFrom<T>(from, labels, to);
    }
    VisitDType<Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>(
        from.dtype, [&]<typename From>() {
          if constexpr (kStoredAs<T, From>) CopyFrom<From>(from, labels, to);
        });
  }
  // The elements in this order, in place if they are already.
  const T* Arrange(Bump& memory, const View& from, const Labels& labels) {
    std::int64_t step = 1;
    bool in_place = from.dtype == kDTypeOf<T>;
    for (std::size_t i = labels.count; i-- > 0;) {
      in_place &= from.stride[labels.list[i]] == step || sizes_[labels.list[i]] == 1;
      step *= sizes_[labels.list[i]];
    }
    if (in_place) return static_cast<const T*>(from.data);
    T* to = memory.Take<T>(labels.size);
    if (!memory.measuring()) Copy(from, labels, to);
    return to;
  }

  // a x b summed over what is not kept. What only one of them has is summed, too: the other repeats its elements over
  // it (stride 0). Lies in `to` if that is there and has the order of the result.
  View Contract(Bump& memory, const View& a, const View& b, const std::array<bool, EinsumEquation::kLabels>& kept,
                T* to) {
    Labels batch, rows, columns, inner;
    for (int label = 0; label < EinsumEquation::kLabels; ++label) {
      if (!a.has[label] && !b.has[label]) continue;
      if (!kept[static_cast<std::size_t>(label)])
        Append(inner, label);
      else if (a.has[label] && b.has[label])
        Append(batch, label);
      else
        Append(a.has[label] ? rows : columns, label);
    }
    const auto joined = [&](const Labels& first, const Labels& second) {
      Labels all = batch;
      for (const Labels* part : {&first, &second}) {
        for (std::size_t i = 0; i < part->count; ++i) Append(all, part->list[i]);
      }
      return all;
    };
    Product<T> p;
    p.batch = batch.size, p.m = rows.size, p.n = columns.size, p.k = inner.size;
    p.lda = p.k, p.ldb = p.n, p.ldc = p.n;
    p.a_batch_stride = p.m * p.k, p.b_batch_stride = p.k * p.n, p.c_batch_stride = p.m * p.n;
    const Labels result = joined(rows, columns);
    p.a = Arrange(memory, a, joined(rows, inner));
    p.b = Arrange(memory, b, joined(inner, columns));
    p.c = to != nullptr && IsOutputOrder(result) ? to : memory.Take<T>(result.size);
    const std::size_t bytes = ProductScratch(p, c_.parallel().ThreadCount());
    std::byte* scratch = memory.Take<std::byte>(static_cast<std::int64_t>(bytes));
    if (!memory.measuring() && result.size > 0) RunProduct(p, c_.parallel(), bytes == 0 ? nullptr : scratch);
    View v;
    v.dtype = kDTypeOf<T>;
    v.data = p.c;
    std::int64_t step = 1;
    for (std::size_t i = result.count; i-- > 0;) {
      v.has[result.list[i]] = true;
      v.stride[result.list[i]] = sizes_[result.list[i]] == 1 ? 0 : step;
      step *= sizes_[result.list[i]];
    }
    return v;
  }

  KernelContext& c_;
  const EinsumEquation& e_;
  std::array<std::int64_t, EinsumEquation::kLabels> sizes_ = {};
};

struct EinsumState {
  std::string equation;
};

// Writes the sums as the output's type; the narrow integers wrap around as sums in their own width would.
template <typename T>
void Narrow(const T* from, const OutputRef& y) {
  VisitDType<Half, BFloat16, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>(y.dtype, [&]<typename To>() {
    if constexpr (kStoredAs<T, To>) {
      for (std::int64_t i = 0; i < y.count; ++i) y.As<To>()[i] = static_cast<To>(from[i]);
    }
  });
}

template <typename T>
void RunEinsum(KernelContext& c) {
  std::array<std::size_t, kMaxOperands> ranks;
  if (c.InputCount() > kMaxOperands)
    Fail(Code::kNotImplemented, "expected at most ", kMaxOperands, " operands, found ", c.InputCount());
  for (std::size_t i = 0; i < c.InputCount(); ++i) ranks[i] = c.Input(i).rank();
  const EinsumEquation e = ParseEinsum(c.state<EinsumState>().equation, {ranks.data(), c.InputCount()});
  Runner<T> runner(c, e);
  if (c.Output(0).count == 0) return;
  const OutputRef y = c.Output(0);
  const bool narrow = y.dtype != kDTypeOf<T>;
  Bump measure(nullptr);
  if (narrow) measure.Take<T>(y.count);
  runner.Execute(measure, nullptr);
  Bump memory(c.Scratch<std::byte>(std::max<std::size_t>(measure.bytes(), 64)));
  T* to = narrow ? memory.Take<T>(y.count) : y.As<T>();
  runner.StoreOutput(runner.Execute(memory, to), to);
  if (narrow) Narrow(to, y);
}

Prepared PrepareEinsum(PrepareContext& c) {
  EinsumState state = {ReadEquation(c)};
  switch (c.InputDType(0)) {
    case DType::kFloat:
    case DType::kFloat16:
    case DType::kBFloat16:
      return WithState(RunEinsum<float>, std::move(state));
    case DType::kDouble:
      return WithState(RunEinsum<double>, std::move(state));
    case DType::kInt64:
      return WithState(RunEinsum<std::int64_t>, std::move(state));
    case DType::kUInt64:
      return WithState(RunEinsum<std::uint64_t>, std::move(state));
    case DType::kUInt32:
      return WithState(RunEinsum<std::uint32_t>, std::move(state));
    default:
      return WithState(RunEinsum<std::int32_t>, std::move(state));
  }
}

// The indices that one operand's term names, with their sizes; those of an ellipsis count from the last on.
void AddIndices(const std::string& term, const TensorRef& operand, std::map<char, double>& sizes) {
  const auto letters = std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const int others = static_cast<int>(operand.rank()) - static_cast<int>(letters);
  int at = 0;
  const auto add = [&](char index) { sizes[index] = std::max(sizes[index], CostContext::DimOf(operand, at++)); };
  bool spread = false;
  for (const char c : term) {
    if (c == '.' && !spread) {
      for (int i = others; i > 0; --i) add(static_cast<char>(i));
      spread = true;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      add(c);
    }
  }
}

// All indices of all operands run through each other; with more than two operands an upper bound.
void CountContraction(CostContext& c) {
  const std::string_view equation = TextAttribute(c.node(), "equation", "");
  std::map<char, double> sizes;
  const std::string operands(equation.substr(0, equation.find("->")));
  std::size_t begin = 0;
  for (std::size_t operand = 0; begin <= operands.size(); ++operand) {
    const std::size_t end = std::min(operands.find(',', begin), operands.size());
    AddIndices(operands.substr(begin, end - begin), c.In(operand), sizes);
    begin = end + 1;
  }
  double operations = 2;
  for (const auto& entry : sizes) operations *= entry.second;
  c.SetOperations(operations);
}

constexpr OpDef kEinsumOps[] = {
    {.name = "Einsum",
     .since = {12, 28},
     .types = kNumbers,
     .infer = InferEinsum,
     .prepare = PrepareEinsum,
     .cost = CountContraction},
};

}  // namespace

std::span<const OpDef> EinsumOps() { return kEinsumOps; }

}  // namespace sardonyx::ops
