// ops/cost_context.h - what an operator's cost function sees and sets, for profiles.
//
// A multiplication and an addition count as two operations, as usual. The formulas that several families share stand at
// the end; all others stand beside the row that names them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/attributes.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

struct Cost {
  std::optional<double> operations;  // nullopt if the definition gives no number (trees, control flow)
  double bytes = 0;                  // read and written once
  double written = 0;                // of them
  double weights = 0;                // of them: constants, which CostOf cannot tell apart
  DType computes = DType::kFloat;    // type of the factors: kInt8 if the kernel multiplies 8-bit integers
  double arithmetic = 1;             // the share of `operations` that the kernel does
};

// Reads only the types and shapes of tensors; missing tensors have the type kUndefined.
class CostContext {
 public:
  CostContext(const Node& node, const Prepared* prepared, std::span<const TensorRef> inputs,
              std::span<const TensorRef> outputs, Cost& cost)
      : node_(&node), prepared_(prepared), inputs_(inputs), outputs_(outputs), cost_(&cost) {}

  const Node& node() const { return *node_; }
  const Prepared* prepared() const { return prepared_; }  // nullptr if unknown
  const TensorRef& In(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : kNone; }
  const TensorRef& Out(std::size_t i) const { return i < outputs_.size() ? outputs_[i] : kNone; }
  // The number of elements; 0 if there is no such tensor.
  double CountIn(std::size_t i) const { return Count(In(i)); }
  double CountOut(std::size_t i) const { return Count(Out(i)); }
  // Dimension `at` of a tensor, counted from the end if negative; 1 if there is none.
  static double DimOf(const TensorRef& tensor, int at) {
    const int rank = static_cast<int>(tensor.rank());
    if (at < 0) at += rank;
    return at >= 0 && at < rank ? static_cast<double>(tensor.dim(static_cast<std::size_t>(at))) : 1;
  }
  bool Flag(std::string_view name) const { return IntAttribute(*node_, name, 0) != 0; }

  void SetOperations(double operations) { cost_->operations = operations; }
  // The share of the operations that the kernel does, which may be fewer than in the definition.
  void SetArithmetic(double share) { cost_->arithmetic = share; }
  void SetComputes(DType dtype) { cost_->computes = dtype; }
  // Input i is a table: no more of its bytes are read than output 0 has.
  void PickFrom(std::size_t i) { tables_ |= std::uint32_t{1} << i; }
  bool PicksFrom(std::size_t i) const { return i < 32 && (tables_ >> i & 1) != 0; }

 private:
  static inline const TensorRef kNone;
  static double Count(const TensorRef& t) { return t.present() ? static_cast<double>(t.count) : 0; }

  const Node* node_;
  const Prepared* prepared_;
  std::span<const TensorRef> inputs_, outputs_;
  Cost* cost_;
  std::uint32_t tables_ = 0;
};

// The function that the row names, or else one for its traits: a view computes nothing, and an elementwise operator
// does one operation for each element. nullptr if the definition gives no number.
CostFn* CostFnOf(const OpDef& op);

// ---- Formulas that families share

void CountNothing(CostContext& c);        // only moves elements, or only looks at shapes
void CountPicked(CostContext& c);         // the same, and reads only the elements of input 0 that it takes
void CountOncePerInput(CostContext& c);   // one operation for each element of input 0
void CountOncePerOutput(CostContext& c);  // ... of output 0
void CountTwicePerOutput(CostContext& c);
void CountProduct(CostContext& c);        // input 0 (`transA`) by a matrix
void CountNormalization(CostContext& c);  // mean, variance, scale and shift
// A convolution by weights [M, C / group, ...]: input 1, or input 3 after scale and zero point. Multiplications by
// padding count as operations that the kernel leaves out.
void CountConvolution(CostContext& c);
void CountQuantizedConvolution(CostContext& c);

}  // namespace sardonyx::ops
