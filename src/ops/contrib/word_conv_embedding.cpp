// ops/contrib/word_conv_embedding.cpp - com.microsoft.WordConvEmbedding: a vector for each word, the largest values of
// a convolution over the embeddings of its characters.
#include <algorithm>
#include <cmath>

#include "kernels/gemm/gemm.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kWords = 0, kWeights = 1, kBias = 2, kTable = 3;

void CheckSize(const InferContext& c, const char* attribute, std::size_t input, std::size_t axis) {
  if (!c.Has(attribute) || !c.HasRank(input) || !c.InputDims(input)[axis].known()) return;
  const std::int64_t wanted = c.Int(attribute), found = c.InputDims(input)[axis].number();
  if (wanted != -1 && wanted != found) {
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected ", found, ", dimension ", axis, " of ",
           c.InputText(input), ", found ", wanted);
  }
}

void InferWords(InferContext& c) {
  const std::size_t ranks[] = {2, 4, 1, 2};
  for (const std::size_t i : {kWords, kWeights, kBias, kTable}) {
    if (c.HasRank(i) && c.Rank(i) != ranks[i])
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank ", ranks[i], ", found ", c.InputType(i).ToText());
  }
  CheckSize(c, "embedding_size", kWeights, 0);
  CheckSize(c, "conv_window_size", kWeights, 2);
  CheckSize(c, "char_embedding_size", kTable, 1);
  const Dim words = c.HasRank(kWords) ? c.InputDims(kWords)[0] : Dim();
  c.SetOutput(0, c.InputDType(kWeights), {words, c.HasRank(kWeights) ? c.InputDims(kWeights)[0] : Dim()});
}

struct Sizes {
  std::int64_t words, length, filters, window, chars, each;
};

Sizes MakeSizes(KernelContext& c) {
  const Dims words = c.Input(kWords).shape, w = c.Input(kWeights).shape, table = c.Input(kTable).shape;
  const Sizes s = {words[0], words[1], w[0], w[2], table[0], table[1]};
  if (w[1] != 1 || w[3] != s.each || c.Input(kBias).count != s.filters || s.window < 1 || s.each < 1) {
    Fail(Code::kInvalidArgument, "expected weights [filters, 1, window, ", s.each, "] and a bias [filters], found ",
         ToText(w), " and ", ToText(c.Input(kBias).shape));
  }
  if (s.words > 0 && s.length < s.window) {
    Fail(Code::kInvalidArgument, "expected words of at least ", s.window, " characters, the window, found shape ",
         ToText(words));
  }
  return s;
}

// How many characters of a word there are; one that begins with 0 has none.
std::int64_t LengthOf(const std::int32_t* word, std::int64_t most) {
  return word[0] > 0 ? std::count_if(word, word + most, [](std::int32_t character) { return character > 0; }) : 0;
}

void RunWords(KernelContext& c) {
  const Sizes s = MakeSizes(c);
  if (c.Output(0).count == 0) return;
  const std::int32_t* words = c.Input(kWords).As<std::int32_t>();
  kernels::GemmF32Args gemm;
  gemm.m = s.length - s.window + 1, gemm.n = s.filters, gemm.k = s.window * s.each;
  gemm.lda = s.each;  // windows overlap
  gemm.ldb = gemm.k, gemm.trans_b = true, gemm.ldc = s.filters;
  Operands io(c, DType::kFloat, 1u << kWords);
  const std::size_t rows_at = io.Add<float>(static_cast<std::size_t>(s.length * s.each));
  const std::size_t sums_at = io.Add<float>(
      CheckedMul(static_cast<std::size_t>(gemm.m), static_cast<std::size_t>(s.filters), "the size of a convolution"));
  const std::size_t scratch = io.Add(kernels::GemmF32ScratchBytes(gemm, c.parallel().ThreadCount()));
  const Operands::Computing computing(io);
  float *rows = io.At<float>(rows_at), *sums = io.At<float>(sums_at);
  const float *table = io.In<float>(kTable), *bias = io.In<float>(kBias);
  gemm.a = rows, gemm.b = io.In<float>(kWeights), gemm.c = sums;
  for (std::int64_t i = 0; i < s.words; ++i) {
    float* y = io.Out<float>(0) + i * s.filters;
    const std::int64_t length = LengthOf(words + i * s.length, s.length), used = std::max(length, s.window);
    if (length == 0) {  // no characters: zeros
      std::fill_n(y, s.filters, 0.0f);
      continue;
    }
    for (std::int64_t k = 0; k < used; ++k) {
      const std::int32_t character = words[i * s.length + k];
      if (character < 0 || character >= s.chars) {
        Fail(Code::kInvalidArgument, "input 0 ('Sequence'): expected characters in [0, ", s.chars - 1, "], found ",
             character);
      }
      std::copy_n(table + character * s.each, s.each, rows + k * s.each);
    }
    gemm.m = used - s.window + 1;
    kernels::GemmF32(gemm, c.parallel(), io.At(scratch));
    for (std::int64_t f = 0; f < s.filters; ++f) {  // tanh keeps the order: one of the largest sum is enough
      float most = sums[f];
      for (std::int64_t k = 1; k < gemm.m; ++k) most = std::max(most, sums[k * s.filters + f]);
      y[f] = std::tanh(most + bias[f]);
    }
  }
}

Prepared PrepareWords(PrepareContext& c) {
  for (const std::size_t i : {kWeights, kBias, kTable})
    if (c.InputDType(i) != DType::kFloat) c.Unsupported(c.InputText(i), c.InputDType(i));
  return {RunWords, nullptr};
}

constexpr OpDef kWordConvEmbeddingOps[] = {
    {.domain = "com.microsoft",
     .name = "WordConvEmbedding",
     .since = {1},
     .types = {DType::kInt32},
     .infer = InferWords,
     .prepare = PrepareWords},
};

}  // namespace

std::span<const OpDef> WordConvEmbeddingOps() { return kWordConvEmbeddingOps; }

}  // namespace sardonyx::ops
