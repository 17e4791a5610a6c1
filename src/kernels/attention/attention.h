// kernels/attention/attention.h - f32 attention: y = softmax(cap(scale * q k^T) + bias, masked) v, one head at a time.
//
// The matrix of scores is never stored: blocks of queries are combined with blocks of keys while their scores lie in
// the first cache level, with a running maximum and sum (Milakov and Gimelshein 2018; Dao et al. 2022). For few queries
// (decoders), keys and values are read in place, once. Nothing allocates or throws. The bits of y do not depend on the
// number of threads. Error of y: (size + keys) * 2^-23 * max |v| and the rounding of the scores, tested in
// attention_test.cpp.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/attention/attention_args.h"

namespace sardonyx::kernels {

// Bytes of scratch for up to `threads` threads; the pointers may still be null.
std::size_t AttentionF32ScratchBytes(const AttentionF32Args& args, int threads);

// scratch: AttentionF32ScratchBytes(args, parallel.ThreadCount()) bytes, 64-byte aligned.
void AttentionF32(const AttentionF32Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
