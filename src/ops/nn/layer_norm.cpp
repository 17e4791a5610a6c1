// ops/nn/layer_norm.cpp - LayerNormalization, RMSNormalization and com.microsoft's forms with a skip connection.
#include <algorithm>
#include <cmath>
#include <limits>

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

template <typename T>
void RunLayerNorm(KernelContext& c) {
  const auto& state = c.state<LayerNormState>();
  const Form& form = *state.form;
  const Dims x_shape = c.Input(0).shape;
  if (c.Input(0).count == 0) return RunEmpty<T>(c, form);
  const std::size_t axis = NormalizeAxis(state.axis, x_shape.size());
  const std::int64_t n = ElementCount(x_shape, axis, x_shape.size()), rows = c.Input(0).count / n;
  CheckSums(c, form, n);
  Operands io(c, kDTypeOf<T>);
  const auto has = [&](std::size_t i) { return i != kAbsent && c.HasInput(i); };
  const auto repeated = [&](std::size_t i) { return has(i) ? RepeatedCount(c.Input(i).shape, x_shape, axis) : 0; };
  const std::size_t scale_at = io.Add<T>(repeated(form.scale)), bias_at = io.Add<T>(repeated(form.bias));
  const bool sums_out = form.sum != kAbsent && c.HasOutput(form.sum);
  const Operands::Computing computing(io);
  const auto parameter = [&](std::size_t i, std::size_t at) {
    return has(i) ? Repeat(io.In<T>(i), c.Input(i).shape, x_shape, axis, io.At<T>(at)) : RowParameter<T>();
  };
  const RowParameter<T> scale = parameter(form.scale, scale_at), bias = parameter(form.bias, bias_at);
  const T* skip = has(form.skip) ? io.In<T>(form.skip) : nullptr;
  const std::int64_t skip_rows = skip != nullptr ? c.Input(form.skip).count / n : 1;
  const T* sum_bias = has(form.sum_bias) ? io.In<T>(form.sum_bias) : nullptr;
  T* means = form.mean != kAbsent ? io.Out<T>(form.mean) : nullptr;
  T* inverses = form.inverse != kAbsent ? io.Out<T>(form.inverse) : nullptr;
  kernels::ShortRows<T> plain{form.rms ? kernels::RowSize::kRootMeanSquare : kernels::RowSize::kDeviation};
  plain.n = n, plain.scale = scale.data, plain.bias = bias.data, plain.epsilon = state.epsilon;
  const bool is_plain = n <= plain.kMost && skip == nullptr && scale.stride == 0 && bias.stride == 0 &&
                        means == nullptr && inverses == nullptr;
  c.parallel().For(rows, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      if (is_plain) {
        kernels::ShortRows<T> rest = plain;
        rest.x = io.In<T>(0) + row * n, rest.y = io.Out<T>(0) + row * n, rest.rows = end - row;
        row += kernels::DivideShortRows(rest);
        if (row == end) return;
      }
      const T* x = io.In<T>(0) + row * n;
      T* y = io.Out<T>(0) + row * n;
      if (skip != nullptr) {
        T* sum = sums_out ? io.Out<T>(form.sum) + row * n : y;
        AddRows(x, skip + row % skip_rows * n, sum_bias, n, sum);
        x = sum;
      }
      const Moments m = RowMoments(x, n, form.rms, state.epsilon);
      AffineRow(x, n, m, scale.At(row), bias.At(row), y);
      if (means != nullptr) means[row] = static_cast<T>(m.mean);
      if (inverses != nullptr) inverses[row] = static_cast<T>(m.inverse);
    }
  });
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
