// ops/text/tfidf.cpp - TfIdfVectorizer: counts of known n-grams in rows of words or numbers.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::int64_t kGrain = 4096;  // items that are worth a thread

// The n-grams as a tree over the numbers of the pool's items: a node for each prefix, with the place of its count in
// the output if it is one of the pool.
struct Trie {
  struct Node {
    std::int64_t column = kNone;
    float weight = 1;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> first;                       // the node of each item alone
  std::unordered_map<std::uint64_t, std::int32_t> next;  // by node and item

  static std::uint64_t Key(std::int32_t node, std::int32_t item) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(item);
  }
  std::int32_t Next(std::int32_t node, std::int32_t item) const {
    const auto found = next.find(Key(node, item));
    return found == next.end() ? kNone : found->second;
  }
};

struct TfIdfState {
  bool strings, counts, weighted;  // counts: TF and TFIDF; weighted: IDF and TFIDF
  std::int64_t shortest, longest, skip, columns;
  std::unordered_map<std::string, std::int32_t> words;  // the number of each item of the pool
  std::unordered_map<std::int64_t, std::int32_t> numbers;
  Trie trie;
};

std::int64_t ColumnCount(const AttributeReader& c) {
  std::int64_t most = -1;
  for (const std::int64_t i : c.Ints("ngram_indexes")) most = std::max(most, i);
  if (most == std::numeric_limits<std::int64_t>::max())
    c.Fail(Code::kInvalidGraph, "attribute 'ngram_indexes': expected indices below ", most, ", found ", most);
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

// The node of the n-gram items[0 .. n), made if it is new.
std::int32_t AddGram(Trie& trie, const std::int32_t* items, std::size_t n) {
  const auto make = [&](std::int32_t& place) {
    if (place == kNone) {
      place = static_cast<std::int32_t>(trie.nodes.size());
      trie.nodes.emplace_back();
    }
    return place;
  };
  std::int32_t node = make(trie.first[items[0]]);
  for (std::size_t i = 1; i < n; ++i)
    node = make(trie.next.try_emplace(Trie::Key(node, items[i]), kNone).first->second);
  return node;
}

// `pool`: the numbers of the pool's items.
Trie BuildTrie(const PrepareContext& c, const std::vector<std::int32_t>& pool, std::size_t items) {
  const std::vector<std::int64_t> starts = c.Ints("ngram_counts"), columns = c.Ints("ngram_indexes");
  const std::vector<float> weights = c.Floats("weights");
  Trie trie;
  trie.first.assign(items, kNone);
  std::size_t gram = 0;
  for (std::size_t n = 1; n <= starts.size(); ++n) {
    const auto size = static_cast<std::int64_t>(pool.size());
    const std::int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : size;
    if (begin < 0 || end < begin || end > size || (end - begin) % static_cast<std::int64_t>(n) != 0) {
      c.Fail(Code::kInvalidGraph, "attribute 'ngram_counts': expected whole ", n, "-grams of a pool of ", size,
             ", found [", begin, ", ", end, ")");
    }
    for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(n), ++gram) {
      if (gram >= columns.size() || columns[gram] < 0 || (!weights.empty() && gram >= weights.size())) {
        c.Fail(Code::kInvalidGraph, "expected an index (and a weight) for each n-gram, found ", columns.size(),
               " indices and ", weights.size(), " weights");
      }
      Trie::Node& node = trie.nodes[AddGram(trie, pool.data() + at, n)];
      node.column = columns[gram];
      if (!weights.empty()) node.weight = weights[gram];
    }
  }
  return trie;
}

// `items`: the numbers of a row's items, kNone for those that are not in the pool.
void CountRow(const TfIdfState& state, const std::int32_t* items, std::int64_t width, float* y) {
  const Trie& trie = state.trie;
  const auto count = [&](const Trie::Node& node) {
    float& cell = y[node.column];
    const float weight = state.weighted ? node.weight : 1;
    cell = state.counts ? cell + weight : weight;
  };
  const std::int64_t last_step = std::clamp<std::int64_t>(state.skip, 0, width) + 1;  // wider gaps reach nothing
  for (std::int64_t step = 1; step <= last_step; ++step) {
    for (std::int64_t begin = 0; begin < width; ++begin) {
      std::int32_t node = items[begin] == kNone ? kNone : trie.first[items[begin]];
      for (std::int64_t n = 1; node != kNone; ++n) {
        // A single item has no gaps: it counts once.
        if (n >= state.shortest && trie.nodes[node].column >= 0 && (n > 1 || step == 1)) count(trie.nodes[node]);
        const std::int64_t at = begin + n * step;
        if (n >= state.longest || at >= width || items[at] == kNone) break;
        node = trie.Next(node, items[at]);
      }
    }
  }
}

void NumberRow(const TfIdfState& state, const TensorRef& x, std::int64_t begin, std::int64_t width,
               std::int32_t* items) {
  for (std::int64_t i = 0; i < width; ++i) {
    items[i] = kNone;
    if (state.strings) {
      const auto found = state.words.find(x.As<std::string>()[begin + i]);
      if (found != state.words.end()) items[i] = found->second;
    } else {
      const auto found = state.numbers.find(IntAt(x, begin + i));
      if (found != state.numbers.end()) items[i] = found->second;
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
  float* y = c.Output(0, shape).As<float>();
  if (c.Output(0).count == 0) return;  // any number of rows
  const std::int64_t rows = x.rank() == 2 ? x.shape[0] : 1, width = x.shape.back();
  std::int32_t* items = x.count == 0 ? nullptr : c.Scratch<std::int32_t>(static_cast<std::size_t>(x.count));
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width + state.columns / 8));
  c.parallel().For(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* out = y + row * state.columns;
      std::fill_n(out, state.columns, 0.0f);
      NumberRow(state, x, row * width, width, items + row * width);
      CountRow(state, items + row * width, width, out);
    }
  });
}

// The number of each element of the pool; equal elements have one number.
template <typename Item, typename Map>
std::vector<std::int32_t> NumberPool(std::span<const Item> pool, Map& numbers) {
  std::vector<std::int32_t> items;
  items.reserve(pool.size());
  for (const Item& item : pool)
    items.push_back(numbers.try_emplace(item, static_cast<std::int32_t>(numbers.size())).first->second);
  return items;
}

Prepared PrepareTfIdf(PrepareContext& c) {
  const std::string& mode = c.String("mode");
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
  const std::vector<std::int32_t> pool = state.strings ? NumberPool(c.StringsView("pool_strings"), state.words)
                                                       : NumberPool(c.IntsView("pool_int64s"), state.numbers);
  state.trie = BuildTrie(c, pool, state.words.size() + state.numbers.size());
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
