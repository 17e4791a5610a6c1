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

// From the node's attributes: what all models have, and a decoder in GPT-2's form (fails for others). They do not find
// the subgraphs.
DecoderDef ReadTokens(const AttributeReader& c);
std::int32_t TokenAttribute(const AttributeReader& c, const char* name, std::int64_t otherwise);
DecoderDef ReadDecoders(const AttributeReader& c);
void FindDecoders(PrepareContext& c, DecoderDef& def);
// Infers encoders and decoders, which no input of the node types.
void InferDecoders(InferContext& c);

// The one integer of an input, or `otherwise` if it is missing.
std::int64_t NumberOf(const KernelContext& c, std::size_t input, const char* name, std::int64_t otherwise);

// Steps of a text model, whose rows are texts: several for each row of the batch.
class TextSteps {
 public:
  TextSteps(KernelContext& c, std::int64_t vocabulary, std::int64_t rows)
      : c_(c), vocabulary_(vocabulary), rows_(rows) {}
  TextSteps(const TextSteps&) = delete;
  TextSteps& operator=(const TextSteps&) = delete;
  virtual ~TextSteps() = default;

  std::int64_t rows() const { return rows_; }
  std::int64_t words() const { return words_; }  // after the first step
  // Runs a step; the scores [rows, words] of the tokens that follow.
  virtual std::span<float> Run() = 0;
  // The next step's input: a token for each row. sources, if there are any: which row's past each row goes on with.
  virtual void Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources) = 0;
  // An input of masks of the vocabulary, empty if it is missing. Fails unless it has the shape.
  std::span<const std::int32_t> VocabularyMask(std::size_t input, const char* name, Dims expected) const;

 protected:
  // The scores of the last position of logits [rows / copies, length, vocabulary], each `copies` times.
  std::span<float> ReadScores(const Value& logits, std::int64_t copies);

  KernelContext& c_;
  std::int64_t vocabulary_, rows_, words_ = 0;
  std::vector<float> scores_;
};

// Fails unless the tokens and the pad are in the vocabulary.
void CheckTokens(std::span<const std::int32_t> tokens, std::int32_t pad, std::int64_t words);

class DecoderSteps final : public TextSteps {
 public:
  // `copies` rows for each row of input 0, the prompt [batch, tokens]; `mask` is the input that says what of it is
  // seen. `rows`: the texts, `stride` apart.
  DecoderSteps(KernelContext& c, const DecoderDef& def, std::int64_t copies, std::size_t mask);

  std::span<float> Run() override;
  void Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources) override;

 private:
  void Start(std::size_t mask);
  Tensor Reordered(const Tensor& past, std::span<const std::int32_t> sources) const;

  const DecoderDef& def_;
  std::int64_t copies_;
  bool first_ = true;
  std::vector<Value> inputs_, outputs_;
  std::vector<std::int32_t> next_;  // positions
};

}  // namespace sardonyx::ops
