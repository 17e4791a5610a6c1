// ops/control/decoder_steps.h - runs the decoder of an operator that generates text, step by step.
//
// The decoder (GPT-2's form) has the inputs input_ids, position_ids, attention_mask and past_0, past_1 ... [2, rows,
// heads, length, size], and the outputs logits [rows, length, vocabulary] and present_0 ...; init_decoder, if there is
// one, runs first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;  // of a text

struct DecoderDef {
  std::size_t decoder = 0;  // KernelContext::RunSubgraph
  std::optional<std::size_t> first_decoder;
  std::size_t layers = 0;
  DType past = DType::kFloat;
  std::int64_t heads = 0, size = 0;  // of the past
  std::int64_t vocabulary = -1;      // tokens beyond it do not come; -1: all that have scores
  std::int32_t pad = 0, end = 0;
  std::int64_t no_repeat = 0;  // ngrams of this length do not come twice; 0: any may
};

// From the node's attributes; fails for decoders of another form. Does not find the subgraphs.
DecoderDef ReadDecoders(const AttributeReader& c);
void FindDecoders(PrepareContext& c, DecoderDef& def);
// Infers the decoders, which no input of the node types.
void InferDecoders(InferContext& c);

// The one integer of an input, or `otherwise` if it is missing.
std::int64_t NumberOf(const KernelContext& c, std::size_t input, const char* name, std::int64_t otherwise);

class DecoderSteps {
 public:
  // `copies` rows for each row of input 0, the prompt [batch, tokens]; `mask` is the input that says what of it is
  // seen. `rows`: the texts, `stride` apart.
  DecoderSteps(KernelContext& c, const DecoderDef& def, std::int64_t copies, std::size_t mask);

  std::int64_t rows() const { return rows_; }
  std::int64_t words() const { return words_; }  // after the first step
  // Runs a step; the scores [rows, words] of the tokens that follow.
  std::span<float> Run();
  // The next step's input: a token for each row. sources, if there are any: which row's past each row goes on with.
  void Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources = {});
  // Fails unless the prompt and the pad are in the vocabulary, which is known after the first step.
  void CheckTokens() const;
  // An input of masks of the vocabulary, empty if it is missing. Fails unless it has the shape.
  std::span<const std::int32_t> VocabularyMask(std::size_t input, const char* name, Dims expected) const;

 private:
  void Start(std::size_t mask);
  void ReadScores();
  Tensor Reordered(const Tensor& past, std::span<const std::int32_t> sources) const;

  KernelContext& c_;
  const DecoderDef& def_;
  std::int64_t copies_, rows_, words_ = 0;
  bool first_ = true;
  std::vector<Value> inputs_, outputs_;
  std::vector<std::int32_t> next_;  // positions
  std::vector<float> scores_;
};

}  // namespace sardonyx::ops
