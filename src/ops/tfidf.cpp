// ops/tfidf.cpp - TfIdfVectorizer: counts of known n-grams in rows of words or numbers.
#include <map>

#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// The n-grams as a tree: a node for each prefix, with the place of its count in the output if it is one of the pool.
template <typename Item>
struct Trie {
  struct Node {
    std::map<Item, std::size_t> next;
    std::int64_t column = -1;
    float weight = 1;
  };
  std::vector<Node> nodes = std::vector<Node>(1);
};

struct TfIdfState {
  bool strings, counts, weighted;  // counts: TF and TFIDF; weighted: IDF and TFIDF
  std::int64_t shortest, longest, skip, columns;
  Trie<std::string> words;
  Trie<std::int64_t> numbers;
};

std::int64_t ColumnCount(const AttributeReader& c) {
  std::int64_t most = -1;
  for (const std::int64_t i : c.Ints("ngram_indexes")) most = std::max(most, i);
  return most + 1;
}

void InferTfIdf(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kFloat);
  std::vector<Dim> dims = c.InputDims(0);
  if (dims.empty() || dims.size() > 2)
    c.Fail(Code::kInvalidArgument, "expected an input [C] or [N, C], found ", c.InputType(0).ToText());
  dims.back() = Dim(ColumnCount(c));
  c.SetOutput(0, DType::kFloat, std::move(dims));
}

template <typename Item>
Trie<Item> BuildTrie(const PrepareContext& c, const std::vector<Item>& pool) {
  const std::vector<std::int64_t> starts = c.Ints("ngram_counts"), columns = c.Ints("ngram_indexes");
  const std::vector<float> weights = c.Floats("weights");
  Trie<Item> trie;
  std::size_t gram = 0;
  for (std::size_t n = 1; n <= starts.size(); ++n) {
    const auto size = static_cast<std::int64_t>(pool.size());
    const std::int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : size;
    if (begin < 0 || end < begin || end > size || (end - begin) % static_cast<std::int64_t>(n) != 0) {
      c.Fail(Code::kInvalidGraph, "attribute 'ngram_counts': [", begin, ", ", end, ") are no whole ", n,
             "-grams of a pool of ", size);
    }
    for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(n), ++gram) {
      if (gram >= columns.size() || columns[gram] < 0 || (!weights.empty() && gram >= weights.size())) {
        c.Fail(Code::kInvalidGraph, "expected an index (and a weight) for each n-gram, found ", columns.size(), " and ",
               weights.size());
      }
      std::size_t node = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto found = trie.nodes[node].next.emplace(pool[static_cast<std::size_t>(at) + i], trie.nodes.size());
        node = found.first->second;
        if (found.second) trie.nodes.emplace_back();
      }
      trie.nodes[node].column = columns[gram];
      if (!weights.empty()) trie.nodes[node].weight = weights[gram];
    }
  }
  return trie;
}

template <typename Item, typename Read>
void CountRow(const TfIdfState& state, const Trie<Item>& trie, std::int64_t width, Read&& read, float* y) {
  const auto count = [&](const typename Trie<Item>::Node& node) {
    float& cell = y[node.column];
    const float weight = state.weighted ? node.weight : 1;
    cell = state.counts ? cell + weight : weight;
  };
  for (std::int64_t step = 1; step <= state.skip + 1; ++step) {
    for (std::int64_t begin = 0; begin < width; ++begin) {
      std::size_t node = 0;
      for (std::int64_t n = 1; n <= state.longest; ++n) {
        const std::int64_t at = begin + (n - 1) * step;
        if (at >= width) break;
        const auto next = trie.nodes[node].next.find(read(at));
        if (next == trie.nodes[node].next.end()) break;
        node = next->second;
        // A single item has no gaps: it counts once.
        if (n >= state.shortest && trie.nodes[node].column >= 0 && (n > 1 || step == 1)) count(trie.nodes[node]);
      }
    }
  }
}

void RunTfIdf(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TfIdfState& state = c.state<TfIdfState>();
  if (x.rank() != 1 && x.rank() != 2)
    Fail(Code::kInvalidArgument, "expected an input [C] or [N, C], found shape ", ToText(x.shape));
  Shape shape(x.shape);
  shape[shape.size() - 1] = state.columns;
  const TensorRef& y = c.Output(0, shape);
  std::fill_n(y.As<float>(), y.count, 0.0f);
  const std::int64_t rows = x.rank() == 2 ? x.shape[0] : 1, width = x.shape.back();
  for (std::int64_t row = 0; row < rows; ++row) {
    float* out = y.As<float>() + row * state.columns;
    if (state.strings) {
      const std::string* words = x.As<std::string>() + row * width;
      CountRow(
          state, state.words, width, [&](std::int64_t i) -> const std::string& { return words[i]; }, out);
    } else {
      CountRow(
          state, state.numbers, width, [&](std::int64_t i) { return IntAt(x, row * width + i); }, out);
    }
  }
}

Prepared PrepareTfIdf(PrepareContext& c) {
  const std::string mode = c.String("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected TF, IDF or TFIDF, found '", mode, "'");
  }
  TfIdfState state;
  state.strings = c.InputDType(0) == DType::kString;
  state.counts = mode != "IDF";
  state.weighted = mode != "TF";
  state.shortest = c.Int("min_gram_length");
  state.longest = c.Int("max_gram_length");
  state.skip = c.Int("max_skip_count");
  state.columns = ColumnCount(c);
  if (state.strings) {
    state.words = BuildTrie(c, c.Strings("pool_strings"));
  } else {
    state.numbers = BuildTrie(c, c.Ints("pool_int64s"));
  }
  return WithState(RunTfIdf, std::move(state));
}

constexpr OpDef kTfIdfOps[] = {
    {.name = "TfIdfVectorizer",
     .since = {9},
     .types = {DType::kString, DType::kInt32, DType::kInt64},
     .infer = InferTfIdf,
     .prepare = PrepareTfIdf},
};

}  // namespace

std::span<const OpDef> TfIdfOps() { return kTfIdfOps; }

}  // namespace sardonyx::ops
