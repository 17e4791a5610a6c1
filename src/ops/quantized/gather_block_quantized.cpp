// ops/quantized/gather_block_quantized.cpp - com.microsoft GatherBlockQuantized: gathers rows of a quantized table
// whose blocks share scales, and dequantizes them to floats.
//
// The table has the shape of its unpacked elements; a byte that holds 2 or 4 elements holds neighbours of the last
// axis.
#include <algorithm>

#include "kernels/elementwise/convert.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kData = 0, kIndices = 1, kScales = 2, kZeros = 3;
constexpr std::size_t kRun = 256;  // elements that are widened at a time

struct State {
  std::int64_t bits = 4, block = 128;
  std::int64_t gather_axis = 0, quantize_axis = 1;
  bool packed = false;  // bytes with several elements
  float middle = 0;     // the zero point where none is given
};

State ReadState(const AttributeReader& c, DType dtype) {
  State s;
  s.bits = c.Int("bits", 4);
  s.block = c.Int("block_size", 128);
  s.gather_axis = c.Int("gather_axis", 0);
  s.quantize_axis = c.Int("quantize_axis", 1);
  const bool is_float = IsFloating(dtype);
  if (s.bits != 2 && s.bits != 4 && s.bits != 8) {
    c.Fail(Code::kInvalidArgument, "attribute 'bits': expected 2, 4 or 8, found ", s.bits);
  }
  const bool power = s.block >= 16 && (s.block & (s.block - 1)) == 0;
  if (!power && !(s.block == 0 && is_float)) {
    c.Fail(Code::kInvalidArgument, "attribute 'block_size': expected a power of two of at least 16, found ", s.block);
  }
  s.packed = dtype == DType::kUInt8 && s.bits < 8;
  if (dtype == DType::kUInt8) s.middle = static_cast<float>(1 << (s.bits - 1));
  return s;
}

void InferGatherBlocks(InferContext& c) {
  const DType dtype = c.InputDType(kScales);
  if (!c.HasRank(kData) || !c.HasRank(kIndices)) return c.SetOutput(0, dtype);
  const State s = ReadState(c, c.InputDType(kData));
  const std::vector<Dim>& x = c.InputDims(kData);
  const auto axis = static_cast<std::ptrdiff_t>(AxisOf(c, s.gather_axis, x.size()));
  std::vector<Dim> unpacked = x;
  if (s.packed) unpacked.back() = unpacked.back() * Dim(8 / s.bits);
  std::vector<Dim> dims(unpacked.begin(), unpacked.begin() + axis);
  dims.insert(dims.end(), c.InputDims(kIndices).begin(), c.InputDims(kIndices).end());
  dims.insert(dims.end(), unpacked.begin() + axis + 1, unpacked.end());
  c.SetOutput(0, dtype, std::move(dims));
}

// The table, its scales and zero points, read by the index of an unpacked element.
class Table {
 public:
  Table(KernelContext& c, const State& s)
      : state_(s), data_(c.Input(kData)), scales_(c.Input(kScales)), shape_(c.Input(kData).shape) {
    if (s.packed) shape_[shape_.size() - 1] *= 8 / s.bits;
    quantize_axis_ = NormalizeAxis(s.quantize_axis, shape_.size());
    if (s.packed && quantize_axis_ + 1 != shape_.size()) {
      Fail(Code::kInvalidArgument, "attribute 'quantize_axis': expected the last axis for packed bytes, found ",
           s.quantize_axis);
    }
    block_ = s.block > 0 ? s.block : std::max<std::int64_t>(1, shape_[quantize_axis_]);
    inner_ = ElementCount(shape_, quantize_axis_ + 1, shape_.size());
    blocks_ = (shape_[quantize_axis_] + block_ - 1) / block_;
    if (blocks_ == 0) {
      Fail(Code::kInvalidArgument, "expected data with elements along quantize_axis ", s.quantize_axis,
           ", found shape ", ToText(data_.shape));
    }
    CheckScales();
    if (c.HasInput(kZeros)) {
      zeros_ = c.Input(kZeros);
      zero_row_ = s.packed ? (blocks_ * s.bits + 7) / 8 : blocks_;
      const std::int64_t want = s.packed ? scales_.count / blocks_ * zero_row_ : scales_.count;
      if (zeros_.dtype != data_.dtype || zeros_.count != want) {
        Fail(Code::kInvalidArgument, "expected ", want, " zero points of ", Name(data_.dtype), ", found ",
             ToText(zeros_.shape), " of ", Name(zeros_.dtype));
      }
    }
    read_scale_ = kernels::ToFloats(scales_.dtype);
    read_ = kernels::ToFloats(data_.dtype);
  }

  const Shape& shape() const { return shape_; }

  // y = the elements [begin, begin + n) as floats; n at most kRun.
  void Read(std::int64_t begin, std::size_t n, float* y) const {
    if (state_.packed) {
      const auto* bytes = data_.As<const std::uint8_t>();
      for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(Bits(bytes, begin + static_cast<std::int64_t>(i)));
    } else {
      read_(data_.data, begin, n, y);
    }
    for (std::size_t i = 0; i < n;) {
      // Elements that share a scale follow each other along the last axis only.
      const std::int64_t at = begin + static_cast<std::int64_t>(i);
      const std::int64_t in_axis = at / inner_ % shape_[quantize_axis_];
      std::size_t run = 1;
      if (inner_ == 1) {
        const std::int64_t end = std::min((in_axis / block_ + 1) * block_, shape_[quantize_axis_]);
        run = std::min(n - i, static_cast<std::size_t>(end - in_axis));
      }
      const std::int64_t index = ScaleIndex(at, in_axis / block_);
      float scale;
      read_scale_(scales_.data, index, 1, &scale);
      const float zero = ZeroPoint(index);
      for (std::size_t k = i; k < i + run; ++k) y[k] = (y[k] - zero) * scale;
      i += run;
    }
  }

 private:
  void CheckScales() {
    Shape want = shape_;
    want[quantize_axis_] = blocks_;
    bool fits = scales_.rank() == want.size();
    for (std::size_t i = 0; fits && i < want.size(); ++i) {
      fits = scales_.shape[i] == want[i] || (IsFloating(data_.dtype) && scales_.shape[i] == 1);
    }
    if (!fits) {
      Fail(Code::kInvalidArgument, "expected scales ", ToText(want), ", found ", ToText(scales_.shape));
    }
    whole_scales_ = Shape::Equal(scales_.shape, want);
  }

  int Bits(const std::uint8_t* bytes, std::int64_t i) const {
    const std::int64_t bit = i * state_.bits;
    return (bytes[bit / 8] >> (bit % 8)) & ((1 << state_.bits) - 1);
  }

  // Where the scale of an element is, given its block.
  std::int64_t ScaleIndex(std::int64_t at, std::int64_t block) const {
    if (whole_scales_) return (at / inner_ / shape_[quantize_axis_] * blocks_ + block) * inner_ + at % inner_;
    std::int64_t index = 0, step = 1;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      const std::int64_t coordinate = i == quantize_axis_ ? block : at % shape_[i];
      at /= shape_[i];
      if (scales_.shape[i] != 1) index += coordinate * step;
      step *= scales_.shape[i];
    }
    return index;
  }

  float ZeroPoint(std::int64_t index) const {
    if (!zeros_.present()) return state_.middle;
    if (state_.packed) {
      const auto* row = zeros_.As<const std::uint8_t>() + index / blocks_ * zero_row_;
      return static_cast<float>(Bits(row, index % blocks_));
    }
    float zero;
    read_(zeros_.data, index, 1, &zero);
    return zero;
  }

  const State& state_;
  TensorRef data_, scales_, zeros_;
  Shape shape_;
  std::size_t quantize_axis_ = 0;
  std::int64_t block_ = 1, blocks_ = 1, inner_ = 1, zero_row_ = 0;
  bool whole_scales_ = true;
  kernels::ToFloatsFn* read_ = nullptr;
  kernels::ToFloatsFn* read_scale_ = nullptr;
};

void RunGatherBlocks(KernelContext& c) {
  const State& s = c.state<State>();
  const TensorRef& indices = c.Input(kIndices);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const Table table(c, s);
  const Shape& shape = table.shape();
  const std::size_t axis = NormalizeAxis(s.gather_axis, shape.size());
  const std::int64_t run = ElementCount(shape, axis + 1, shape.size()), size = shape[axis];
  kernels::FromFloatsFn* write = kernels::FromFloats(y.dtype);
  const auto index_of = [&](std::int64_t i) {
    return indices.dtype == DType::kInt32 ? std::int64_t{indices.As<const std::int32_t>()[i]}
                                          : indices.As<const std::int64_t>()[i];
  };
  c.parallel().For(y.count / run, std::max<std::int64_t>(1, 4096 / run), [&](std::int64_t begin, std::int64_t end) {
    float memory[kRun];
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t index = index_of(row % indices.count);
      if (index < 0) index += size;
      const bool outside = index < 0 || index >= size;  // gives zeros
      for (std::int64_t i = 0; i < run; i += static_cast<std::int64_t>(kRun)) {
        const std::size_t n = std::min(kRun, static_cast<std::size_t>(run - i));
        if (outside) {
          std::fill_n(memory, n, 0.0f);
        } else {
          table.Read((row / indices.count * size + index) * run + i, n, memory);
        }
        write(memory, n, y.data, row * run + i);
      }
    }
  });
}

Prepared PrepareGatherBlocks(PrepareContext& c) {
  const DType dtype = c.InputDType(kData);
  const State s = ReadState(c, dtype);
  if (c.HasInput(kZeros) && IsFloating(dtype)) {
    c.Fail(Code::kInvalidArgument, "expected no zero_points for data of type ", Name(dtype), ", found some");
  }
  return WithState(RunGatherBlocks, s);
}

void CountGatherBlocks(CostContext& c) {
  CountTwicePerOutput(c);
  for (const std::size_t i : {0u, 2u, 3u}) c.PickFrom(i);  // data, scales, zero points
}

constexpr OpDef kGatherBlockQuantizedOps[] = {
    {.domain = "com.microsoft",
     .name = "GatherBlockQuantized",
     .since = {1},
     .types = kFloat8s | DTypeSet{DType::kUInt8, DType::kInt4, DType::kUInt4, DType::kFloat4E2M1},
     .infer = InferGatherBlocks,
     .prepare = PrepareGatherBlocks,
     .cost = CountGatherBlocks},
};

}  // namespace

std::span<const OpDef> GatherBlockQuantizedOps() { return kGatherBlockQuantizedOps; }

}  // namespace sardonyx::ops
