// ops/op_def.h - what an operator is: one row of facts and functions.
//
// An operator family is a file with a constexpr table of rows and a function `std::span<const OpDef> FamilyOps()`; the
// families are listed once, in SDX_OP_FAMILIES (ops/registry.h). A row has ONE semantics, that of the newest version it
// names; `upgrade` rewrites nodes of older versions to it. Versions that differ too much to be rewritten have a row of
// their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "base/dtype.h"
#include "base/error.h"

namespace sardonyx {
struct Node;
}

namespace sardonyx::ops {

class InferContext;    // ops/infer_context.h
class PrepareContext;  // ops/prepare_context.h
class KernelContext;   // ops/kernel_context.h
class UpgradeContext;  // ops/upgrade_context.h
class CostContext;     // ops/cost_context.h
class SpellContext;    // ops/spell_context.h
struct LayoutDef;      // ops/layout.h

// A set of element types, for a row's `types`.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> list) {
    for (const DType d : list) bits_ |= std::uint32_t{1} << static_cast<int>(d);
  }
  constexpr bool Has(DType d) const { return (bits_ >> static_cast<int>(d)) & 1; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet sum;
    sum.bits_ = bits_ | other.bits_;
    return sum;
  }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr DTypeSet kIeeeFloats = {DType::kFloat, DType::kDouble, DType::kFloat16, DType::kBFloat16};
inline constexpr DTypeSet kSignedInts = {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kUnsignedInts = {DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
inline constexpr DTypeSet kFloat8s = {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                                      DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0};
inline constexpr DTypeSet kSubBytes = {DType::kInt4, DType::kUInt4, DType::kInt2, DType::kUInt2, DType::kFloat4E2M1};
inline constexpr DTypeSet kComplexes = {DType::kComplex64, DType::kComplex128};
inline constexpr DTypeSet kIntegers = kSignedInts | kUnsignedInts;
inline constexpr DTypeSet kNumbers = kIeeeFloats | kIntegers;
inline constexpr DTypeSet kAllTypes =
    kNumbers | kFloat8s | kSubBytes | kComplexes | DTypeSet{DType::kString, DType::kBool};

// A short constexpr list, so that a table row can be written {6, 13}.
template <typename T>
struct Few {
  static constexpr std::size_t kMax = 12;
  T items[kMax] = {};
  std::size_t size = 0;
  constexpr Few() = default;
  constexpr Few(std::initializer_list<T> list) {
    for (const T& item : list) items[size++] = item;
  }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size; }
  constexpr bool Has(const T& wanted) const {
    for (const T& item : *this)
      if (item == wanted) return true;
    return false;
  }
};

// Sets the types of the outputs (and their contents, where these can be computed) from those of the inputs. Called with
// symbols when the model is loaded and with numbers when a run is planned. Fails with kInvalidGraph / kInvalidArgument.
using InferFn = void(InferContext&);

// Computes the outputs. Input shapes are final; outputs with inferred shapes are allocated.
using RunFn = void(KernelContext&);

// What `prepare` makes of a node, once: the function for its element types, and constant state (attributes in the form
// the kernel wants, packed weights). All runs share it, so it is never changed.
struct Prepared {
  RunFn* run = nullptr;
  std::shared_ptr<const void> state;  // shared: programs built from one model share packed weights
};
using PrepareFn = Prepared(PrepareContext&);

// Rewrites the node, which follows version `since_version`, to the row's newest semantics.
using UpgradeFn = void(UpgradeContext&);

// Counts the operations of a node by the operator's definition. Without such a function the number is unknown, unless
// it follows from the row's traits (CostFnOf in ops/cost_context.h).
using CostFn = void(CostContext&);

// Writes a node into a file of a newer opset that spells its meaning differently. Called for files that import `opset`
// or a newer one; nodes of a row without such a function mean the same in all opsets.
using SpellFn = void(SpellContext&);
struct SpellDef {
  int opset = 0;
  SpellFn* rewrite = nullptr;
};

// Whether the kernel of a node takes an input or output whose rows of the last axis lie apart (TensorRef::pitch). Asked
// for float tensors; without such a function rows always follow each other.
struct Port {
  bool output = false;
  std::size_t index = 0;
};
using PitchFn = bool(const Node&, Port);

enum Traits : std::uint16_t {
  kNone = 0,
  kCommutative = 1,        // the first two inputs may be swapped
  kView = 2,               // output 0 has the bytes of input 0 with another shape: planned as an alias if possible
  kMayAlias = 4,           // output 0 may overwrite any input that has its shape and element size
  kRandom = 8,             // differs from run to run: never folded, merged or moved
  kElementwise = 16,       // y[i] depends only on x[i] of every (broadcast) input
  kShapeOnly = 32,         // reads only the shape of input 0, not its bytes (Shape, Size)
  kNoFold = 64,            // not worth folding (the result is larger than what makes it)
  kMovesElements = 128,    // every element of its outputs is one of input 0
  kPacksWeights = 256,     // brings a constant input 1 into a form of its own, once
  kSizedByElements = 512,  // the size of its outputs depends on the elements of its inputs
  kCustom = 1024,          // code of a custom operator library: runs whether its outputs are read or not, and only it
                           // knows the shapes of its outputs; what inference says of them is a prediction
};

struct OpDef {
  std::string_view domain = "";  // "" is ai.onnx
  std::string_view name;
  Few<int> since;  // every opset version that `upgrade` and these semantics cover
  // The element types supported for input `typed_input` (for output 0 if there are no inputs); if empty, `prepare`
  // alone decides.
  DTypeSet types = {};
  int typed_input = 0;
  InferFn* infer = nullptr;
  PrepareFn* prepare = nullptr;
  UpgradeFn* upgrade = nullptr;
  CostFn* cost = nullptr;
  const LayoutDef* layout = nullptr;  // null: works channels first only, unless its traits say more (LayoutOf)
  SpellDef spell = {};
  PitchFn* pitch = nullptr;
  std::uint16_t traits = kNone;
};

}  // namespace sardonyx::ops
