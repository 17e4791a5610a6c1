// ops/control/encoder_decoder_steps.cpp - reads and runs an encoder and a decoder.
#include "ops/control/encoder_decoder_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace sardonyx::ops {
namespace {

constexpr std::size_t kSource = 0;

const Graph& GraphOf(const AttributeReader& c, const char* attribute) {
  const Graph* graph = c.GraphAttribute(attribute);
  if (graph == nullptr) c.Fail(Code::kInvalidGraph, "attribute '", attribute, "' (a graph) is required and missing");
  return *graph;
}

void CheckType(const AttributeReader& c, const char* attribute, const char* kind, std::size_t i, const Type& type,
               DType expected) {
  if (type.is_tensor() && type.dtype == expected) return;
  c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected ", Name(expected), " as ", kind, " ", i,
         " of the graph, found ", type.ToText());
}

void ReadDecoder(const AttributeReader& c, EncoderDecoderDef& def) {
  const Graph& graph = GraphOf(c, "decoder");
  const std::size_t inputs = graph.inputs.size(), outputs = graph.outputs.size(), own = def.masked ? 2 : 1;
  def.layers = (outputs - std::min<std::size_t>(outputs, 1)) / 2;
  const std::size_t states = own + 4 * def.layers;
  if (def.layers == 0 || outputs % 2 == 0 || (inputs != states && inputs != states + 1)) {
    c.Fail(Code::kInvalidGraph, "attribute 'decoder': expected input_ids, ",
           def.masked ? "encoder_attention_mask, encoder_hidden_states" : "encoder_hidden_states",
           " (optional) and 4 past states for each layer as inputs, and logits and 2 present states for each layer as "
           "outputs, found ",
           inputs, " inputs and ", outputs, " outputs");
  }
  def.hidden = inputs == states + 1;
  const auto input = [&](std::size_t i) -> const Type& { return graph.value(graph.inputs[i]).type; };
  for (std::size_t i = 0; i < own; ++i) CheckType(c, "decoder", "input", i, input(i), DType::kInt32);
  def.past = input(own).dtype;
  if (def.past != DType::kFloat16) def.past = DType::kFloat;
  for (std::size_t i = own; i < inputs; ++i) {
    CheckType(c, "decoder", "input", i, input(i), def.past);
    const std::size_t rank = i < own + (def.hidden ? 1 : 0) ? 3 : 4;
    if (input(i).has_rank && input(i).rank() != rank) {
      c.Fail(Code::kInvalidGraph, "attribute 'decoder': expected ", rank == 3 ? "hidden states" : "a past state",
             " of rank ", rank, " as input ", i, " of ", inputs, ", found ", input(i).ToText());
    }
  }
  const Type& ids = input(0);
  def.whole_text = !(ids.has_rank && ids.rank() == 2 && ids.dims[1].known() && ids.dims[1].number() == 1);
}

void ReadEncoder(const AttributeReader& c, EncoderDecoderDef& def) {
  const Graph& graph = GraphOf(c, "encoder");
  const std::size_t inputs = graph.inputs.size(), outputs = graph.outputs.size(), own = def.masked ? 2 : 1;
  def.starts = inputs == own + 1;
  const std::size_t expected = def.starts ? 2 + 4 * def.layers : 2 * def.layers;
  if (inputs != own && inputs != own + 1) {
    c.Fail(Code::kInvalidGraph, "attribute 'encoder': expected encoder_input_ids, ",
           def.masked ? "encoder_attention_mask and " : "", "decoder_input_ids (optional) as inputs, found ", inputs,
           " inputs");
  }
  if (outputs != expected) {
    c.Fail(Code::kInvalidGraph, "attribute 'encoder': expected ", expected, " outputs with ", inputs,
           " inputs and a decoder of ", def.layers, " layers, found ", outputs);
  }
  if (def.hidden && !def.starts) {
    c.Fail(Code::kInvalidGraph,
           "expected a decoder without encoder_hidden_states after an encoder whose outputs are keys and values alone");
  }
  def.source = graph.value(graph.inputs[0]).type.dtype;
  if (def.masked || def.source != DType::kFloat16)
    CheckType(c, "encoder", "input", 0, graph.value(graph.inputs[0]).type, def.masked ? DType::kInt32 : DType::kFloat);
  for (std::size_t i = 1; i < inputs; ++i)
    CheckType(c, "encoder", "input", i, graph.value(graph.inputs[i]).type, DType::kInt32);
}

}  // namespace

EncoderDecoderDef ReadEncoderDecoder(const AttributeReader& c, bool whisper) {
  EncoderDecoderDef def;
  def.masked = !whisper;
  if (c.Has("init_decoder")) {
    c.Fail(Code::kInvalidGraph,
           "expected no 'init_decoder' beside an encoder: it is for decoders alone ('model_type' 0)");
  }
  ReadDecoder(c, def);
  ReadEncoder(c, def);
  def.start = TokenAttribute(c, "decoder_start_token_id", -1);
  return def;
}

void FindEncoderDecoder(PrepareContext& c, EncoderDecoderDef& def) {
  def.encoder = c.SubgraphIndex("encoder");
  def.decoder = c.SubgraphIndex("decoder");
}

EncoderDecoderSteps::EncoderDecoderSteps(KernelContext& c, const DecoderDef& tokens, const EncoderDecoderDef& def,
                                         std::int64_t copies, std::span<const std::int32_t> prompt, std::size_t mask)
    : TextSteps(c, tokens.vocabulary, c.Input(kSource).dim(0) * copies),
      tokens_(tokens),
      def_(def),
      copies_(copies),
      batch_(c.Input(kSource).dim(0)),
      prompt_(prompt),
      mask_(mask) {
  if (def.masked && c.HasInput(mask) && !std::ranges::equal(c.Input(mask).shape, c.Input(kSource).shape)) {
    Fail(Code::kInvalidArgument, "input ", mask, " ('attention_mask'): expected the shape of 'input_ids' ",
         ToText(c.Input(kSource).shape), ", found ", ToText(c.Input(mask).shape));
  }
}

// What of input 0 is seen: all without an input that says it, but the pads before the first other token.
Tensor EncoderDecoderSteps::Mask() const {
  const TensorRef& source = c_.Input(kSource);
  const std::int64_t length = source.dim(1);
  Tensor mask(DType::kInt32, Shape{batch_, length});
  auto* to = mask.data<std::int32_t>();
  if (c_.HasInput(mask_)) {
    std::ranges::copy(c_.Input(mask_).Span<std::int32_t>(), to);
    return mask;
  }
  for (std::int64_t row = 0; row < batch_; ++row) {
    bool seen = false;
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      seen = seen || source.As<std::int32_t>()[i] != tokens_.pad;
      to[i] = seen ? 1 : 0;
    }
  }
  return mask;
}

// The prompts, each `copies` times.
Tensor EncoderDecoderSteps::Prompt(std::int64_t copies) const {
  const std::int64_t length = std::ssize(prompt_) / batch_;
  Tensor ids(DType::kInt32, Shape{batch_ * copies, length});
  for (std::int64_t row = 0; row < batch_ * copies; ++row)
    std::copy_n(prompt_.data() + row / copies * length, length, ids.data<std::int32_t>() + row * length);
  return ids;
}

// Fails unless it is a tensor of the past's type with `rows` rows.
void EncoderDecoderSteps::CheckState(const Value& value, std::int64_t rows, std::size_t rank, const char* name) const {
  const bool fits = value.is_tensor() && value.tensor().dtype() == def_.past && value.tensor().shape().rank() == rank &&
                    value.tensor().shape()[0] == rows;
  if (fits) return;
  const std::string found = value.is_tensor()
                                ? std::string(Name(value.tensor().dtype())) + " " + ToText(value.tensor().shape())
                                : std::string(value.KindName());
  Fail(Code::kInvalidArgument, "expected ", name, " of rank ", rank, " with ", rows, " rows of ", Name(def_.past),
       ", found ", found);
}

// A state of the encoder, each row `copies` times.
Tensor EncoderDecoderSteps::Repeated(const Value& value, std::size_t rank, const char* name) const {
  CheckState(value, batch_, rank, name);
  const Tensor& from = value.tensor();
  std::vector<std::int64_t> dims(from.shape().begin(), from.shape().end());
  dims[0] = rows_;
  Tensor result(from.dtype(), Shape(dims));
  const std::size_t each = ByteSize(from.dtype(), from.count()) / static_cast<std::size_t>(batch_);
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t row = 0; row < rows_ && each > 0; ++row)
    std::memcpy(to + static_cast<std::size_t>(row) * each, source + static_cast<std::size_t>(row / copies_) * each,
                each);
  return result;
}

// A present state whose rows are `sources` of the one given.
Tensor EncoderDecoderSteps::Picked(const Value& present, std::span<const std::int32_t> sources) const {
  const Tensor& from = present.tensor();
  Tensor result(from.dtype(), from.shape());
  const std::size_t each = ByteSize(from.dtype(), from.count()) / static_cast<std::size_t>(rows_);
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::size_t row = 0; row < sources.size() && each > 0; ++row)
    std::memcpy(to + row * each, source + static_cast<std::size_t>(sources[row]) * each, each);
  return result;
}

// Runs the encoder and makes the decoder's inputs of its outputs, each row for all copies.
void EncoderDecoderSteps::RunEncoder() {
  std::vector<Value> given = {c_.InputValue(kSource)}, encoded(def_.starts ? 2 + 4 * def_.layers : 2 * def_.layers);
  if (def_.masked) given.emplace_back(Mask());
  if (def_.starts) given.emplace_back(Prompt(1));
  c_.RunSubgraph(def_.encoder, given, encoded);

  const std::size_t states = 2 * def_.layers, first = def_.first_past();
  inputs_.assign(first + 2 * states, Value());
  outputs_.assign(1 + states, Value());
  inputs_[0] = Prompt(copies_);
  if (def_.masked) {
    const Tensor mask = Mask();
    const std::int64_t length = mask.shape()[1];
    Tensor seen(DType::kInt32, Shape{rows_, length});
    for (std::int64_t row = 0; row < rows_; ++row)
      std::copy_n(mask.data<std::int32_t>() + row / copies_ * length, length, seen.data<std::int32_t>() + row * length);
    inputs_[1] = std::move(seen);
  }
  if (def_.hidden) inputs_[first - 1] = Repeated(encoded[1], 3, "encoder_hidden_states of the encoder");
  const std::size_t cross = def_.starts ? 2 + states : 0;
  for (std::size_t i = 0; i < states; ++i) {
    inputs_[first + states + i] = Repeated(encoded[cross + i], 4, "keys and values of the encoder");
    if (def_.starts) {
      outputs_[1 + i] = Repeated(encoded[2 + i], 4, "a present state of the encoder");
    } else {  // no token was read before the first step
      const Shape& like = encoded[cross + i].tensor().shape();
      inputs_[first + i] = Tensor(def_.past, Shape{rows_, like[1], 0, like[3]});
    }
  }
  if (def_.starts) outputs_[0] = std::move(encoded[0]);
}

std::span<float> EncoderDecoderSteps::Run() {
  c_.CheckCancelled();
  if (first_) {
    RunEncoder();
    if (def_.whole_text) {
      const Tensor texts = Prompt(copies_);
      texts_.assign(texts.data<std::int32_t>(), texts.data<std::int32_t>() + texts.count());
    }
  }
  if (std::exchange(first_, false) && def_.starts) return ReadScores(outputs_[0], copies_);
  c_.RunSubgraph(def_.decoder, inputs_, outputs_);
  return ReadScores(outputs_[0], 1);
}

void EncoderDecoderSteps::Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources) {
  const auto rows = static_cast<std::size_t>(rows_), before = texts_.size() / rows, after = before + 1;
  const auto token = [&](std::size_t row) { return std::max(tokens[row], std::int32_t{0}); };
  Tensor ids(DType::kInt32, Shape{rows_, def_.whole_text ? static_cast<std::int64_t>(after) : 1});
  for (std::size_t row = 0; row < rows; ++row) {
    if (def_.whole_text) {
      const std::size_t source = sources.empty() ? row : static_cast<std::size_t>(sources[row]);
      std::copy_n(texts_.data() + source * before, before, ids.data<std::int32_t>() + row * after);
    }
    ids.data<std::int32_t>()[def_.whole_text ? row * after + before : row] = token(row);
  }
  if (def_.whole_text) texts_.assign(ids.data<std::int32_t>(), ids.data<std::int32_t>() + ids.count());
  inputs_[0] = std::move(ids);
  for (std::size_t i = 0; i < 2 * def_.layers; ++i) {
    Value &past = inputs_[def_.first_past() + i], &present = outputs_[1 + i];
    CheckState(present, rows_, 4, "a present state of the decoder");
    if (sources.empty())
      std::swap(past, present);
    else
      past = Picked(present, sources);
  }
}

}  // namespace sardonyx::ops
