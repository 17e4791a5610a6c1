// ops/operands.h - inputs and outputs as float or double in memory, whatever type the tensors store; and the layout of
// scratch memory.
//
// A kernel that computes in float takes float tensors as they are; float16 and bfloat16 are converted to float copies
// in scratch before and rounded once after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "base/parallel.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// dst[i] = src[i]: any number type to float or double, float or double to the float types (rounded once, ties to even;
// 8-bit types saturate). Fails with kNotImplemented for types that hold no numbers. Splits the work over `parallel`.
void Convert(DType from, const void* src, DType to, void* dst, std::int64_t count, Parallel& parallel);

// Several arrays in one block of memory, each 64-byte aligned: add all, then take bytes() once.
class ScratchLayout {
 public:
  template <typename T = std::byte>
  std::size_t Add(std::size_t count) {
    const std::size_t offset = bytes_;
    const std::size_t size = CheckedMul(count, sizeof(T), "the size of scratch memory");
    bytes_ =
        CheckedAdd(CheckedAdd(bytes_, size, "the size of scratch memory"), 63, "the size of scratch memory") / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

// The tensors of a kernel as arrays of one compute type. Use: Add the arrays the kernel wants for itself, then compute
// as long as a Computing lives.
class Operands {
 public:
  static constexpr std::size_t kMax = 16;

  // Inputs and outputs that are there, as `compute` (kFloat or kDouble). Bits of `skip_inputs` name inputs left alone
  // (indices, masks of other types), those of `skip_outputs` outputs.
  Operands(KernelContext& c, DType compute, std::uint32_t skip_inputs = 0, std::uint32_t skip_outputs = 0);

  template <typename T = std::byte>
  std::size_t Add(std::size_t count) {
    return layout_.Add<T>(count);
  }
  // Takes the memory and converts the inputs; its end converts the outputs, unless an exception ends it.
  class [[nodiscard]] Computing {
   public:
    explicit Computing(Operands& operands) : operands_(operands), exceptions_(std::uncaught_exceptions()) {
      operands_.ConvertInputs();
    }
    // A conversion that does not exist is an error of the kernel, which the destructor lets out.
    ~Computing() noexcept(false) {
      if (std::uncaught_exceptions() == exceptions_) operands_.ConvertOutputs();
    }
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;

   private:
    Operands& operands_;
    int exceptions_;
  };

  // nullptr where it is missing.
  template <typename T>
  const T* In(std::size_t i) const {
    return i < kMax ? static_cast<const T*>(in_[i]) : nullptr;
  }
  template <typename T>
  T* Out(std::size_t i) const {
    return i < kMax ? static_cast<T*>(out_[i]) : nullptr;
  }
  template <typename T = std::byte>
  T* At(std::size_t offset) const {
    return static_cast<T*>(static_cast<void*>(block_ + offset));
  }

 private:
  void ConvertInputs();
  void ConvertOutputs();

  KernelContext& c_;
  DType compute_;
  ScratchLayout layout_;
  std::byte* block_ = nullptr;
  std::array<const void*, kMax> in_ = {};
  std::array<void*, kMax> out_ = {};
  std::array<std::size_t, kMax> in_offset_ = {};  // + 1; 0: used in place
  std::array<std::size_t, kMax> out_offset_ = {};
};

// The type a kernel computes in: double for double, float for every other.
inline DType ComputeType(DType dtype) { return dtype == DType::kDouble ? DType::kDouble : DType::kFloat; }

}  // namespace sardonyx::ops
