// ops/control/encoder_decoder_steps.h - runs an encoder and a decoder of an operator that generates text, step by step.
//
// The encoder has the inputs encoder_input_ids and encoder_attention_mask (Whisper has features and no mask). If it has
// decoder_input_ids besides, it also runs the decoder's first step: its outputs are logits, encoder_hidden_states, and
// keys and values of each layer, first those of the text, then those of what is encoded. Otherwise its outputs are the
// latter alone. The decoder has the inputs input_ids, encoder_attention_mask (not Whisper's), encoder_hidden_states or
// not, the past keys and values of the text and then of what is encoded, all [rows, heads, length, size], and the
// outputs logits and the present keys and values of the text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/control/decoder_steps.h"

namespace sardonyx::ops {

struct EncoderDecoderDef {
  std::size_t encoder = 0, decoder = 0;  // KernelContext::RunSubgraph
  bool masked = true;                    // encoder and decoder have a mask
  bool starts = false;                   // the encoder runs the decoder's first step
  bool hidden = false;                   // the decoder reads encoder_hidden_states
  bool whole_text = false;               // the decoder reads all tokens in each step, not the last one
  std::size_t layers = 0;
  DType source = DType::kInt32;  // of the encoder's first input
  DType past = DType::kFloat;
  std::int32_t start = -1;  // the first token of a text

  std::size_t first_past() const { return std::size_t{1} + (masked ? 1 : 0) + (hidden ? 1 : 0); }
};

// From the node's attributes; fails for other forms. `whisper`: float features, no masks.
EncoderDecoderDef ReadEncoderDecoder(const AttributeReader& c, bool whisper);
void FindEncoderDecoder(PrepareContext& c, EncoderDecoderDef& def);

class EncoderDecoderSteps final : public TextSteps {
 public:
  // `copies` rows for each row of input 0, what is encoded. prompt: [batch, tokens], with which the texts begin; `mask`
  // is the input that says what of input 0 is seen.
  EncoderDecoderSteps(KernelContext& c, const DecoderDef& tokens, const EncoderDecoderDef& def, std::int64_t copies,
                      std::span<const std::int32_t> prompt, std::size_t mask);

  std::span<float> Run() override;
  void Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources) override;

 private:
  void RunEncoder();
  Tensor Mask() const;
  Tensor Prompt(std::int64_t copies) const;
  void CheckState(const Value& value, std::int64_t rows, std::size_t rank, const char* name) const;
  Tensor Repeated(const Value& value, std::size_t rank, const char* name) const;
  Tensor Picked(const Value& present, std::span<const std::int32_t> sources) const;

  const DecoderDef& tokens_;
  const EncoderDecoderDef& def_;
  std::int64_t copies_, batch_;
  std::span<const std::int32_t> prompt_;
  std::size_t mask_;
  bool first_ = true;
  std::vector<Value> inputs_, outputs_;  // of the decoder
  std::vector<std::int32_t> texts_;      // [rows, tokens], if the decoder reads them all
};

}  // namespace sardonyx::ops
