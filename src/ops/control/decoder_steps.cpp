// ops/control/decoder_steps.cpp - reads, infers and runs decoders.
#include "ops/control/decoder_steps.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/convert.h"
#include "ops/integers.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kIds = 0;
constexpr std::size_t kFirstPast = 3;  // input of the decoder

const Graph& DecoderOf(const AttributeReader& c, const char* attribute) {
  const Graph* decoder = c.GraphAttribute(attribute);
  if (decoder == nullptr) c.Fail(Code::kInvalidGraph, "attribute '", attribute, "' (a graph) is required and missing");
  const std::size_t inputs = decoder->inputs.size(), outputs = decoder->outputs.size();
  if (outputs < 2 || inputs != outputs + kFirstPast - 1) {
    c.Fail(
        Code::kNotImplemented, "attribute '", attribute,
        "': decoders with input_ids, position_ids, attention_mask and a past for each present are implemented, found ",
        inputs, " inputs and ", outputs, " outputs");
  }
  return *decoder;
}

// Sizes of the past, which the decoder declares.
void ReadPast(const AttributeReader& c, const char* attribute, DecoderDef& def) {
  const Graph& decoder = DecoderOf(c, attribute);
  const Type& past = decoder.value(decoder.inputs[kFirstPast]).type;
  const bool known =
      past.is_tensor() && past.has_rank && past.rank() == 5 && past.dims[2].known() && past.dims[4].known();
  if (!known || past.dims[2].number() < 1 || past.dims[4].number() < 1) {
    c.Fail(Code::kInvalidGraph, "attribute '", attribute,
           "': expected a first past of rank 5 with known heads and size, found ", past.ToText());
  }
  for (std::size_t i = 0; i < kFirstPast; ++i) {
    const Type& type = decoder.value(decoder.inputs[i]).type;
    if (type.dtype != DType::kInt32) {
      c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected int32 as input ", i, " of the decoder, found ",
             type.ToText());
    }
  }
  def.layers = decoder.outputs.size() - 1;
  def.past = past.dtype;
  def.heads = past.dims[2].number(), def.size = past.dims[4].number();
  if (def.past != DType::kFloat && def.past != DType::kFloat16) {
    c.Fail(Code::kNotImplemented, "attribute '", attribute, "': a past of float or float16 is implemented, found ",
           past.ToText());
  }
}

// One tensor of int32 [rows, columns].
Tensor Ints32(std::int64_t rows, std::int64_t columns) { return Tensor(DType::kInt32, Shape{rows, columns}); }

}  // namespace

std::int32_t TokenAttribute(const AttributeReader& c, const char* name, std::int64_t otherwise) {
  const std::int64_t value = c.Int(name, otherwise);
  if (value < -1 || value > kMostTokens)
    c.Fail(Code::kInvalidArgument, "attribute '", name, "': expected a token, found ", value);
  return static_cast<std::int32_t>(value);
}

DecoderDef ReadTokens(const AttributeReader& c) {
  DecoderDef def;
  for (const char* name : {"pad_token_id", "eos_token_id"}) c.Int(name);  // required
  def.pad = TokenAttribute(c, "pad_token_id", -1), def.end = TokenAttribute(c, "eos_token_id", -1);
  def.vocabulary = c.Int("vocab_size", -1);
  def.no_repeat = std::max<std::int64_t>(0, c.Int("no_repeat_ngram_size", 0));
  return def;
}

DecoderDef ReadDecoders(const AttributeReader& c) {
  DecoderDef def = ReadTokens(c);
  const std::int64_t kind = c.Int("model_type", 0);
  if (kind != 0 || c.Has("encoder")) {
    c.Fail(Code::kNotImplemented, "expected a decoder alone ('model_type' 0, no 'encoder'), found 'model_type' ", kind,
           c.Has("encoder") ? " and an 'encoder'" : "");
  }
  ReadPast(c, "decoder", def);
  if (c.Has("init_decoder")) {
    DecoderDef first;
    ReadPast(c, "init_decoder", first);
    if (first.layers != def.layers || first.heads != def.heads || first.size != def.size || first.past != def.past)
      c.Fail(Code::kInvalidGraph, "expected 'init_decoder' with the past of 'decoder', found another one");
  }
  return def;
}

void FindDecoders(PrepareContext& c, DecoderDef& def) {
  def.decoder = c.SubgraphIndex("decoder");
  if (c.Has("init_decoder")) def.first_decoder = c.SubgraphIndex("init_decoder");
}

void InferDecoders(InferContext& c) {
  for (const char* attribute : {"encoder", "decoder", "init_decoder"}) {
    const Graph* decoder = c.GraphAttribute(attribute);
    if (decoder == nullptr) continue;
    std::vector<Type> types;  // as it declares them, with sizes that a run decides unknown
    for (const ValueId id : decoder->inputs) {
      Type type = decoder->value(id).type;
      for (Dim& dim : type.dims)
        if (!dim.known()) dim = Dim();
      types.push_back(std::move(type));
    }
    c.InferSubgraph(attribute, types);
  }
}

std::int64_t NumberOf(const KernelContext& c, std::size_t input, const char* name, std::int64_t otherwise) {
  if (!c.HasInput(input)) return otherwise;
  if (c.Input(input).count != 1) {
    Fail(Code::kInvalidArgument, "input ", input, " ('", name, "'): expected one number, found shape ",
         ToText(c.Input(input).shape));
  }
  return IntAt(c.Input(input), 0);
}

DecoderSteps::DecoderSteps(KernelContext& c, const DecoderDef& def, std::int64_t copies, std::size_t mask)
    : TextSteps(c, def.vocabulary, c.Input(kIds).dim(0) * copies), def_(def), copies_(copies) {
  const Dims ids = c.Input(kIds).shape;
  if (c.HasInput(mask) && !std::ranges::equal(c.Input(mask).shape, ids)) {
    Fail(Code::kInvalidArgument, "input ", mask, " ('attention_mask'): expected the shape of 'input_ids' ", ToText(ids),
         ", found ", ToText(c.Input(mask).shape));
  }
  Start(mask);
}

// The prompt with its positions (pads have none of their own) and an empty past.
void DecoderSteps::Start(std::size_t mask) {
  const std::int64_t prompt = c_.Input(kIds).dim(1);
  const std::int32_t* from = c_.Input(kIds).As<std::int32_t>();
  const std::int32_t* given = c_.HasInput(mask) ? c_.Input(mask).As<std::int32_t>() : nullptr;
  Tensor ids = Ints32(rows_, prompt), positions = Ints32(rows_, prompt), seen = Ints32(rows_, prompt);
  next_.assign(static_cast<std::size_t>(rows_), 0);
  for (std::int64_t i = 0; i < rows_ * prompt; ++i) {
    const std::int64_t row = i / prompt, at = row / copies_ * prompt + i % prompt;
    const bool is_pad = from[at] == def_.pad;
    ids.data<std::int32_t>()[i] = from[at];
    seen.data<std::int32_t>()[i] = given != nullptr ? given[at] : is_pad ? 0 : 1;
    positions.data<std::int32_t>()[i] = is_pad ? 0 : next_[static_cast<std::size_t>(row)]++;
  }
  inputs_.assign(kFirstPast + def_.layers, Value());
  inputs_[0] = std::move(ids), inputs_[1] = std::move(positions), inputs_[2] = std::move(seen);
  for (std::size_t i = 0; i < def_.layers; ++i)
    inputs_[kFirstPast + i] = Tensor(def_.past, Shape{2, rows_, def_.heads, 0, def_.size});
  outputs_.assign(1 + def_.layers, Value());
}

std::span<float> DecoderSteps::Run() {
  c_.CheckCancelled();
  c_.RunSubgraph(first_ && def_.first_decoder ? *def_.first_decoder : def_.decoder, inputs_, outputs_);
  first_ = false;
  return ReadScores(outputs_[0], 1);
}

std::span<float> TextSteps::ReadScores(const Value& value, std::int64_t copies) {
  const std::int64_t rows = rows_ / copies;
  const bool fits = value.is_tensor() && value.tensor().shape().rank() == 3 && value.tensor().shape()[0] == rows &&
                    value.tensor().shape()[1] > 0;
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected logits [", rows, ", length, vocabulary] of the model, found ",
         value.is_tensor() ? ToText(value.tensor().shape()) : value.KindName());
  }
  const Tensor& logits = value.tensor();
  const std::int64_t length = logits.shape()[1], width = logits.shape()[2];
  const std::int64_t words = words_ > 0 ? words_ : vocabulary_ > 0 ? vocabulary_ : width;
  kernels::ToFloatsFn* const load = kernels::ToFloats(logits.dtype());
  if (words < 1 || words > width || !IsFloating(logits.dtype()) || load == nullptr) {
    Fail(Code::kInvalidArgument, "expected logits of at least ", std::max<std::int64_t>(1, words), " floats, found ",
         Name(logits.dtype()), " ", ToText(logits.shape()));
  }
  words_ = words;
  scores_.resize(CheckedMul(static_cast<std::size_t>(rows_), static_cast<std::size_t>(words), "the number of scores"));
  for (std::int64_t row = 0; row < rows_; ++row) {
    load(logits.raw(), (row / copies * length + length - 1) * width, static_cast<std::size_t>(words),
         scores_.data() + row * words);
  }
  return scores_;
}

void DecoderSteps::Advance(std::span<const std::int32_t> tokens, std::span<const std::int32_t> sources) {
  const std::int64_t length = inputs_[2].tensor().shape()[1];
  Tensor ids = Ints32(rows_, 1), positions = Ints32(rows_, 1), seen = Ints32(rows_, length + 1);
  const std::int32_t* old = inputs_[2].tensor().data<std::int32_t>();
  for (std::int64_t row = 0; row < rows_; ++row) {
    ids.data<std::int32_t>()[row] = std::max(tokens[static_cast<std::size_t>(row)], std::int32_t{0});
    positions.data<std::int32_t>()[row] = next_[static_cast<std::size_t>(row)]++;
    std::copy_n(old + row * length, length, seen.data<std::int32_t>() + row * (length + 1));
    seen.data<std::int32_t>()[row * (length + 1) + length] = 1;
  }
  inputs_[0] = std::move(ids), inputs_[1] = std::move(positions), inputs_[2] = std::move(seen);
  for (std::size_t i = 0; i < def_.layers; ++i) {
    Value &past = inputs_[kFirstPast + i], &present = outputs_[1 + i];
    if (sources.empty())
      std::swap(past, present);
    else
      past = Reordered(present.tensor(), sources);
  }
}

// A past [2, rows, ...] whose rows are `sources` of the one given.
Tensor DecoderSteps::Reordered(const Tensor& past, std::span<const std::int32_t> sources) const {
  if (past.shape().rank() != 5 || past.shape()[0] != 2 || past.shape()[1] != rows_) {
    Fail(Code::kInvalidArgument, "expected a present [2, ", rows_, ", heads, length, size] of the decoder, found ",
         ToText(past.shape()));
  }
  Tensor result(past.dtype(), past.shape());
  const std::size_t each = ByteSize(past.dtype(), past.count()) / static_cast<std::size_t>(2 * rows_);
  const auto* from = static_cast<const std::byte*>(past.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t i = 0; i < 2 * rows_; ++i) {
    const std::int64_t source = i / rows_ * rows_ + sources[static_cast<std::size_t>(i % rows_)];
    std::memcpy(to + static_cast<std::size_t>(i) * each, from + static_cast<std::size_t>(source) * each, each);
  }
  return result;
}

void CheckTokens(std::span<const std::int32_t> tokens, std::int32_t pad, std::int64_t words) {
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= words)
      Fail(Code::kInvalidArgument, "the text to go on with: expected tokens in [0, ", words - 1, "], found ", token);
  }
  if (pad >= words)
    Fail(Code::kInvalidArgument, "attribute 'pad_token_id': expected a token below ", words, ", found ", pad);
}

std::span<const std::int32_t> TextSteps::VocabularyMask(std::size_t input, const char* name, Dims expected) const {
  if (!c_.HasInput(input)) return {};
  if (!std::ranges::equal(c_.Input(input).shape, expected)) {
    Fail(Code::kInvalidArgument, "input ", input, " ('", name, "'): expected shape ", ToText(expected), ", found ",
         ToText(c_.Input(input).shape));
  }
  return c_.Input(input).Span<std::int32_t>();
}

}  // namespace sardonyx::ops
