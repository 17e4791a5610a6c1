// ops/nn/layer_norm.cpp - LayerNormalization, RMSNormalization and com.microsoft's forms with a skip connection.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/convert.h"
#include "kernels/norm/affine_f32.h"
#include "kernels/norm/short_rows.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kAbsent = 99;  // no such input or output

// Where each operator of the family has its inputs and outputs.
struct Form {
  std::string_view name;
  bool rms;
  std::size_t skip, scale, bias, sum_bias;  // inputs
  std::size_t mean, inverse, sum;           // outputs
};
constexpr Form kForms[] = {
    {"LayerNormalization", false, kAbsent, 1, 2, kAbsent, 1, 2, kAbsent},
    {"RMSNormalization", true, kAbsent, 1, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent},
    {"SimplifiedLayerNormalization", true, kAbsent, 1, kAbsent, kAbsent, kAbsent, 1, kAbsent},
    {"SkipLayerNormalization", false, 1, 2, 3, 4, 1, 2, 3},
    {"SkipSimplifiedLayerNormalization", true, 1, 2, kAbsent, 3, 1, 2, 3},
};

struct LayerNormState {
  const Form* form = nullptr;
  std::int64_t axis = -1;
  double epsilon = 1e-5;
};

const Form& FormOf(const AttributeReader& c) {
  for (const Form& form : kForms) {
    if (c.op_type() == form.name) return form;
  }
  c.Fail(Code::kNotImplemented, "this form of layer normalization is not implemented");
}

void InferLayerNorm(InferContext& c) {
  const Form& form = FormOf(c);
  const DType y = form.rms && form.skip == kAbsent && c.InputDType(form.scale) != DType::kUndefined
                      ? c.InputDType(form.scale)
                      : c.InputDType(0);
  const DType stash = c.DTypeAttribute("stash_type", DType::kFloat);
  if (!c.HasRank(0)) {
    c.SetOutput(0, y);
    for (const std::size_t i : {form.mean, form.inverse}) {
      if (i != kAbsent && c.HasOutput(i)) c.SetOutput(i, stash);
    }
    if (form.sum != kAbsent && c.HasOutput(form.sum)) c.SetOutput(form.sum, y);
    return;
  }
  const std::size_t axis = AxisOf(c, c.Int("axis", -1), c.Rank(0));
  c.SetOutput(0, y, c.InputDims(0));
  std::vector<Dim> reduced = c.InputDims(0);
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(axis), reduced.end(), Dim(1));
  for (const std::size_t i : {form.mean, form.inverse}) {
    if (i != kAbsent && c.HasOutput(i)) c.SetOutput(i, stash, reduced);
  }
  if (form.sum != kAbsent && c.HasOutput(form.sum)) c.SetOutput(form.sum, y, c.InputDims(0));
}

// Mean (0 for RMS) and 1 / sqrt(variance + epsilon) of a row.
struct Moments {
  double mean, inverse;
};
Moments RowMoments(const float* x, std::int64_t n, bool rms, double epsilon) {
  const auto& kernel = kernels::ReduceF32();
  const double count = static_cast<double>(n);
  if (rms) return {0, 1 / std::sqrt(kernel.row(kernels::ReduceKind::kSumSquare, x, n) / count + epsilon)};
  const double mean = kernel.row(kernels::ReduceKind::kSum, x, n) / count;
  return {mean, 1 / std::sqrt(kernel.sum_squared_deviations(x, n, static_cast<float>(mean)) / count + epsilon)};
}
Moments RowMoments(const double* x, std::int64_t n, bool rms, double epsilon) {
  double mean = 0, squares = 0;
  for (std::int64_t i = 0; !rms && i < n; ++i) mean += x[i];
  mean /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + epsilon)};
}

void AffineRow(const float* x, std::int64_t n, const Moments& m, const float* scale, const float* bias, float* y) {
  kernels::AffineF32().row(x, n, static_cast<float>(m.mean), static_cast<float>(m.inverse), scale, bias, y);
}
void AffineRow(const double* x, std::int64_t n, const Moments& m, const double* scale, const double* bias, double* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = (x[i] - m.mean) * m.inverse * (scale != nullptr ? scale[i] : 1) + (bias != nullptr ? bias[i] : 0);
  }
}
void AddRows(const float* a, const float* b, const float* c, std::int64_t n, float* sum) {
  kernels::AffineF32().add(a, b, c, n, sum);
}
void AddRows(const double* a, const double* b, const double* c, std::int64_t n, double* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i] + (c != nullptr ? c[i] : 0);
}

// A scale or bias: the elements of the first row, and how far on those of the next are.
template <typename T>
struct RowParameter {
  const T* data = nullptr;
  std::int64_t stride = 0;

  const T* At(std::int64_t row) const { return data == nullptr ? nullptr : data + row * stride; }
};

// The dimensions of a parameter that broadcasts to X: those of the normalized axes, or of all if rows differ in it.
Dims OwnDims(Dims shape, std::size_t normalized) {
  while (shape.size() > normalized && shape[0] == 1) shape = shape.subspan(1);
  return shape;
}

// How many elements the parameter has once it is repeated; 0 if it is used in place.
std::size_t RepeatedCount(Dims given, Dims x, std::size_t axis) {
  const Dims row = x.subspan(axis), shape = OwnDims(given, row.size());
  if (Shape::Equal(shape, row) || Shape::Equal(shape, x)) return 0;
  return static_cast<std::size_t>(ElementCount(x, shape.size() > row.size() ? 0 : axis, x.size()));
}

// Repeats a parameter into `to`, or takes it in place.
template <typename T>
RowParameter<T> Repeat(const T* from, Dims given, Dims x, std::size_t axis, T* to) {
  const Dims row = x.subspan(axis), shape = OwnDims(given, row.size());
  const bool of_rows = shape.size() > row.size();
  const Dims dims = of_rows ? x : row;
  const std::int64_t stride = of_rows ? ElementCount(row, 0, row.size()) : 0;
  if (RepeatedCount(given, x, axis) == 0) return {from, stride};
  Shape out;
  if (!Broadcast(shape, dims, &out) || !Shape::Equal(out, dims)) {
    Fail(Code::kInvalidArgument, "expected a scale and bias that broadcast to the input ", ToText(x), ", found ",
         ToText(given));
  }
  const std::int64_t count = ElementCount(dims, 0, dims.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0, step = 1;
    for (std::size_t back = 0; back < shape.size(); ++back) {
      const std::int64_t size = dims[dims.size() - 1 - back], mine = shape[shape.size() - 1 - back];
      if (mine != 1) at += rest % size * step;
      rest /= size;
      step *= mine;
    }
    to[i] = from[at];
  }
  return {to, stride};
}

// The moments of no elements are no numbers.
template <typename T>
void RunEmpty(KernelContext& c, const Form& form) {
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  for (const std::size_t i : {form.mean, form.inverse}) {
    if (i != kAbsent && c.HasOutput(i))
      std::fill_n(io.Out<T>(i), c.Output(i).count, std::numeric_limits<T>::quiet_NaN());
  }
}

void CheckSums(KernelContext& c, const Form& form, std::int64_t n) {
  const auto count = [&](std::size_t i) { return i != kAbsent && c.HasInput(i) ? c.Input(i).count : n; };
  const std::int64_t skip = count(form.skip);
  if (skip == 0 || skip % n != 0 || c.Input(0).count % skip != 0) {
    Fail(Code::kInvalidArgument, "expected a skip that broadcasts to ", ToText(c.Input(0).shape), ", found ",
         ToText(c.Input(form.skip).shape));
  }
  if (count(form.sum_bias) != n) {
    Fail(Code::kInvalidArgument, "expected a bias of ", n, " elements, found ", ToText(c.Input(form.sum_bias).shape));
  }
}

// Halves are widened a few rows at a time: whole tensors of floats would go through memory twice.
constexpr std::int64_t kBlock = 4096;

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

bool IsHalfRows(KernelContext& c, std::int64_t n) {
  return IsHalf(c.Input(0).dtype) && IsHalf(c.Output(0).dtype) && n <= kBlock;
}

std::uint32_t BitsOf(bool set, std::initializer_list<std::size_t> places) {
  std::uint32_t bits = 0;
  for (const std::size_t i : places)
    if (set && i != kAbsent) bits |= std::uint32_t{1} << i;
  return bits;
}

// A run of the operator: what stays the same for all rows.
template <typename T>
class RowNormalizer {
 public:
  RowNormalizer(KernelContext& c, const LayerNormState& state)
      : c_(c),
        form_(*state.form),
        epsilon_(state.epsilon),
        axis_(NormalizeAxis(state.axis, c.Input(0).rank())),
        n_(ElementCount(c.Input(0).shape, axis_, c.Input(0).rank())),
        rows_(c.Input(0).count / n_),
        halves_(IsHalfRows(c, n_)),
        io_(c, kDTypeOf<T>, BitsOf(halves_, {0, form_.skip}), BitsOf(halves_, {0, form_.sum})) {}

  void Run() {
    CheckSums(c_, form_, n_);
    const std::size_t scale_at = io_.template Add<T>(Repeated(form_.scale)),
                      bias_at = io_.template Add<T>(Repeated(form_.bias));
    const Operands::Computing computing(io_);
    scale_ = Parameter(form_.scale, scale_at), bias_ = Parameter(form_.bias, bias_at);
    if (Has(form_.skip)) skip_rows_ = c_.Input(form_.skip).count / n_;
    sum_bias_ = Has(form_.sum_bias) ? io_.template In<T>(form_.sum_bias) : nullptr;
    means_ = form_.mean != kAbsent ? io_.template Out<T>(form_.mean) : nullptr;
    inverses_ = form_.inverse != kAbsent ? io_.template Out<T>(form_.inverse) : nullptr;
    c_.parallel().For(rows_, std::max<std::int64_t>(1, 4096 / n_), [this](std::int64_t begin, std::int64_t end) {
      if (halves_) return RunHalves(begin, end);
      const T* x = io_.template In<T>(0) + begin * n_;
      T* y = io_.template Out<T>(0) + begin * n_;
      if (!Has(form_.skip)) return Normalize(x, begin, end, y);
      for (std::int64_t row = begin; row < end; ++row, x += n_, y += n_) {
        T* sum = SumsOut() ? io_.template Out<T>(form_.sum) + row * n_ : y;
        AddRows(x, io_.template In<T>(form_.skip) + row % skip_rows_ * n_, sum_bias_, n_, sum);
        Normalize(sum, row, row + 1, y);
      }
    });
  }

 private:
  bool Has(std::size_t i) const { return i != kAbsent && c_.HasInput(i); }
  bool SumsOut() const { return form_.sum != kAbsent && c_.HasOutput(form_.sum); }
  std::size_t Repeated(std::size_t i) const {
    return Has(i) ? RepeatedCount(c_.Input(i).shape, c_.Input(0).shape, axis_) : 0;
  }
  RowParameter<T> Parameter(std::size_t i, std::size_t at) {
    if (!Has(i)) return {};
    return Repeat(io_.template In<T>(i), c_.Input(i).shape, c_.Input(0).shape, axis_, io_.template At<T>(at));
  }

  // Rows [begin, end) of the tensor, which follow each other from x on, to y.
  void Normalize(const T* x, std::int64_t begin, std::int64_t end, T* y) const {
    kernels::ShortRows<T> rest{form_.rms ? kernels::RowSize::kRootMeanSquare : kernels::RowSize::kDeviation};
    rest.n = n_, rest.scale = scale_.data, rest.bias = bias_.data, rest.epsilon = epsilon_;
    const bool is_short = n_ <= rest.kMost && scale_.stride == 0 && bias_.stride == 0 && means_ == nullptr &&
                          inverses_ == nullptr;
    for (std::int64_t row = begin; row < end; ++row) {
      if (is_short) {
        rest.x = x + (row - begin) * n_, rest.y = y + (row - begin) * n_, rest.rows = end - row;
        row += kernels::DivideShortRows(rest);
        if (row == end) return;
      }
      const T* from = x + (row - begin) * n_;
      const Moments m = RowMoments(from, n_, form_.rms, epsilon_);
      AffineRow(from, n_, m, scale_.At(row), bias_.At(row), y + (row - begin) * n_);
      if (means_ != nullptr) means_[row] = static_cast<T>(m.mean);
      if (inverses_ != nullptr) inverses_[row] = static_cast<T>(m.inverse);
    }
  }

  void RunHalves(std::int64_t begin, std::int64_t end) const {
    if constexpr (std::is_same_v<T, float>) {
      alignas(64) float x[kBlock], skip[kBlock], y[kBlock];  // y is not x: a row would wait for the one before
      kernels::ToFloatsFn* const widen = kernels::ToFloats(c_.Input(0).dtype);
      kernels::FromFloatsFn* const narrow = kernels::FromFloats(c_.Output(0).dtype);
      const std::int64_t most = Has(form_.skip) ? 1 : std::max<std::int64_t>(1, kBlock / 2 / n_);
      for (std::int64_t row = begin; row < end; row += most) {
        const std::int64_t rows = std::min(most, end - row);
        const auto count = static_cast<std::size_t>(rows * n_);
        widen(c_.Input(0).data, row * n_, count, x);
        if (Has(form_.skip)) {
          widen(c_.Input(form_.skip).data, row % skip_rows_ * n_, count, skip);
          AddRows(x, skip, sum_bias_, n_, x);
          if (SumsOut()) narrow(x, count, c_.Output(form_.sum).data, row * n_);
        }
        Normalize(x, row, row + rows, y);
        narrow(y, count, c_.Output(0).data, row * n_);
      }
    }
  }

  KernelContext& c_;
  const Form& form_;
  const double epsilon_;
  const std::size_t axis_;
  const std::int64_t n_, rows_;
  const bool halves_;
  Operands io_;
  RowParameter<T> scale_, bias_;
  const T* sum_bias_ = nullptr;
  std::int64_t skip_rows_ = 1;
  T *means_ = nullptr, *inverses_ = nullptr;
};

template <typename T>
void RunLayerNorm(KernelContext& c) {
  const auto& state = c.state<LayerNormState>();
  if (c.Input(0).count == 0) return RunEmpty<T>(c, *state.form);
  RowNormalizer<T>(c, state).Run();
}

Prepared PrepareLayerNorm(PrepareContext& c) {
  LayerNormState state;
  state.form = &FormOf(c);
  state.axis = c.Int("axis", -1);
  state.epsilon = static_cast<double>(c.Float("epsilon", state.form->skip == kAbsent ? 1e-5f : 1e-12f));
  return WithState(c.InputDType(0) == DType::kDouble ? RunLayerNorm<double> : RunLayerNorm<float>, state);
}

constexpr OpDef Row(std::string_view domain, std::string_view name, Few<int> since) {
  return {.domain = domain,
          .name = name,
          .since = since,
          .types = kIeeeFloats,
          .infer = InferLayerNorm,
          .prepare = PrepareLayerNorm,
          .cost = CountNormalization};
}

constexpr OpDef kLayerNormOps[] = {
    Row("", "LayerNormalization", {1, 17}),
    Row("", "RMSNormalization", {23}),
    Row("", "SimplifiedLayerNormalization", {1}),
    Row("com.microsoft", "SimplifiedLayerNormalization", {1}),
    Row("com.microsoft", "SkipLayerNormalization", {1}),
    Row("com.microsoft", "SkipSimplifiedLayerNormalization", {1}),
};

}  // namespace

std::span<const OpDef> LayerNormOps() { return kLayerNormOps; }

}  // namespace sardonyx::ops
