// ops/text/tfidf.cpp - TfIdfVectorizer: counts of known n-grams in rows of words or numbers.
#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::int64_t kGrain = 4096;  // items that are worth a thread

std::uint64_t Bits64(std::int64_t x) { return static_cast<std::uint64_t>(x); }

// Numbers by key in one array of slots: a slot is found by the upper bits of a product, and the next free one is taken.
class NumberMap {
 public:
  // The number of the key, which becomes `value` if it is new.
  std::int32_t Add(std::uint64_t key, std::int32_t value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Slot& slot = slots_[Find(key)];
    if (slot.value == kNone) slot = {key, value}, ++size_;
    return slot.value;
  }
  std::int32_t Get(std::uint64_t key) const { return slots_.empty() ? kNone : slots_[Find(key)].value; }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t value = kNone;
  };

  // The slot of the key, or a free one.
  std::size_t Find(std::uint64_t key) const {
    std::size_t at = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> shift_);
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void Grow() {
    std::vector<Slot> old(std::max<std::size_t>(16, 2 * slots_.size()));
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const Slot& slot : old)
      if (slot.value != kNone) slots_[Find(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 60;
};

// The n-grams as a tree over the numbers of the pool's items: a node for each prefix, with the place of its count in
// the output if it is one of the pool.
struct Trie {
  struct Node {
    std::int64_t column = kNone;
    float weight = 1;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> first;  // the node of each item alone
  NumberMap next;                   // by node and item

  static std::uint64_t Key(std::int32_t node, std::int32_t item) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(item);
  }
  std::int32_t Next(std::int32_t node, std::int32_t item) const { return next.Get(Key(node, item)); }
};

struct TfIdfState {
  bool strings, counts, weighted;  // counts: TF and TFIDF; weighted: IDF and TFIDF
  std::int64_t shortest, longest, skip, columns;
  std::unordered_map<std::string, std::int32_t> words;  // the number of each item of the pool
  NumberMap numbers;
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
  const auto fresh = static_cast<std::int32_t>(trie.nodes.size());
  std::int32_t& first = trie.first[items[0]];
  if (first == kNone) first = fresh;
  std::int32_t node = first;
  for (std::size_t i = 1;; ++i) {
    if (node == static_cast<std::int32_t>(trie.nodes.size())) trie.nodes.emplace_back();
    if (i == n) return node;
    node = trie.next.Add(Trie::Key(node, items[i]), static_cast<std::int32_t>(trie.nodes.size()));
  }
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
  if (state.strings) {
    const std::string* words = x.As<std::string>() + begin;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto found = state.words.find(words[i]);
      items[i] = found == state.words.end() ? kNone : found->second;
    }
    return;
  }
  VisitDType<std::int32_t, std::int64_t>(x.dtype, [&]<typename T>() {
    const T* numbers = x.As<T>() + begin;
    for (std::int64_t i = 0; i < width; ++i) items[i] = state.numbers.Get(Bits64(numbers[i]));
  });
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
std::vector<std::int32_t> NumberWords(std::span<const std::string> pool,
                                      std::unordered_map<std::string, std::int32_t>& words) {
  std::vector<std::int32_t> items;
  items.reserve(pool.size());
  for (const std::string& word : pool)
    items.push_back(words.try_emplace(word, static_cast<std::int32_t>(words.size())).first->second);
  return items;
}
std::vector<std::int32_t> NumberNumbers(std::span<const std::int64_t> pool, NumberMap& numbers) {
  std::vector<std::int32_t> items;
  items.reserve(pool.size());
  for (const std::int64_t item : pool)
    items.push_back(numbers.Add(Bits64(item), static_cast<std::int32_t>(numbers.size())));
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
  const std::vector<std::int32_t> pool = state.strings ? NumberWords(c.StringsView("pool_strings"), state.words)
                                                       : NumberNumbers(c.IntsView("pool_int64s"), state.numbers);
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
