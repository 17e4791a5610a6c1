// kernels/packed_form.h - what the form of packed weights depends on.
#pragma once

#include <string>

namespace sardonyx::kernels {

// To be raised with every change to what a kernel packs, so that compiled models of older versions are packed again.
// packed_form_test.cpp notices such a change.
inline constexpr int kPackerVersion = 8;

// The packer's version and what this process may use of the CPU: "packer 2, avx512, avx512_vnni". Weights that were
// packed where this text was the same can be read here.
std::string PackedForm();

// Whether this CPU multiplies bf16 faster than f32, so that weights may be packed in bf16 where the caller allows it.
bool GainsFromBf16();

}  // namespace sardonyx::kernels
