// ops/schema/schema.cpp - lookups in the generated table of operator schemas.
#include "ops/schema/schema.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "ir/domain.h"
#include "ir/text.h"

namespace sardonyx::ops {
namespace {

struct DomainRow {
  std::uint16_t name_at;
  int newest;
};

struct FunctionRow {
  int opset_version;
  std::uint16_t body;
};

using enum OpSchema::Flags;

#include "ops/schema/schema_functions.inc"
#include "ops/schema/schema_table.inc"

constexpr int kKinds = 5;
constexpr int kMapBits = 32 * kKinds;
constexpr std::string_view kKindText[kKinds][2] = {{"tensor(", ")"},
                                                   {"sparse_tensor(", ")"},
                                                   {"seq(tensor(", "))"},
                                                   {"optional(tensor(", "))"},
                                                   {"optional(seq(tensor(", ")))"}};
struct MapRow {
  DType key, value;
  bool in_sequence;
  std::string_view text;
};
constexpr MapRow kMaps[] = {
    {DType::kInt64, DType::kString, false, "map(int64, string)"},
    {DType::kInt64, DType::kFloat, false, "map(int64, float)"},
    {DType::kInt64, DType::kDouble, false, "map(int64, double)"},
    {DType::kString, DType::kInt64, false, "map(string, int64)"},
    {DType::kString, DType::kFloat, false, "map(string, float)"},
    {DType::kString, DType::kDouble, false, "map(string, double)"},
    {DType::kInt64, DType::kFloat, true, "seq(map(int64, float))"},
    {DType::kString, DType::kFloat, true, "seq(map(string, float))"},
};

std::string_view Text(std::size_t offset) { return kPool + offset; }

int MapBit(const Type& map, bool in_sequence) {
  if (!map.element || !map.element->is_tensor()) return -1;
  for (std::size_t i = 0; i < std::size(kMaps); ++i)
    if (kMaps[i].key == map.dtype && kMaps[i].value == map.element->dtype && kMaps[i].in_sequence == in_sequence)
      return kMapBits + static_cast<int>(i);
  return -1;
}

// The bit of `type` in a TypeSet, -1 if no schema knows such a type.
int BitOf(const Type& type) {
  const auto element_bit = [](int kind, const Type& t) { return 32 * kind + static_cast<int>(t.dtype); };
  switch (type.kind) {
    case TypeKind::kTensor:
      return element_bit(0, type);
    case TypeKind::kSparseTensor:
      return element_bit(1, type);
    case TypeKind::kMap:
      return MapBit(type, false);
    case TypeKind::kSequence:
      if (!type.element) return -1;
      if (type.element->kind == TypeKind::kMap) return MapBit(*type.element, true);
      return type.element->is_tensor() ? element_bit(2, *type.element) : -1;
    case TypeKind::kOptional: {
      if (!type.element) return -1;
      if (type.element->is_tensor()) return element_bit(3, *type.element);
      const Type& sequence = *type.element;
      const bool of_tensors = sequence.kind == TypeKind::kSequence && sequence.element && sequence.element->is_tensor();
      return of_tensors ? element_bit(4, *sequence.element) : -1;
    }
    case TypeKind::kNone:
      break;
  }
  return -1;
}

// The names of element types that schemas use but DType has not.
std::string ElementName(int number) {
  if (IsDType(number)) return std::string(Name(static_cast<DType>(number)));
  return number == 27 ? "float6e2m3" : number == 28 ? "float6e3m2" : "type " + std::to_string(number);
}

int DomainIndex(std::string_view domain) {
  domain = StandardDomain(domain);
  for (std::size_t i = 0; i < std::size(kDomains); ++i)
    if (Text(kDomains[i].name_at) == domain) return static_cast<int>(i);
  return -1;
}

using SchemaKey = std::pair<int, std::string_view>;  // index of the domain, name
struct SchemaHash {
  std::size_t operator()(const SchemaKey& key) const {
    return std::hash<std::string_view>()(key.second) + static_cast<std::size_t>(key.first);
  }
};
using SchemaIndex = std::unordered_map<SchemaKey, std::span<const OpSchema>, SchemaHash>;

// The versions of each operator, which stand side by side in the table. Made at the first lookup: a session looks up
// many times for each node, and a binary search in a table of strings that end in NUL was a fifth of its creation.
SchemaIndex IndexOfSchemas() {
  SchemaIndex index;
  for (const OpSchema *first = std::begin(kSchemas), *last = first; first != std::end(kSchemas); first = last) {
    const SchemaKey key(first->domain_index, first->name());
    while (last != std::end(kSchemas) && SchemaKey(last->domain_index, last->name()) == key) ++last;
    index.emplace(key, std::span(first, last));
  }
  return index;
}

const FormalParam* ParamAt(std::span<const FormalParam> params, std::size_t index) {
  if (index < params.size()) return &params[index];
  return !params.empty() && params.back().option == ParamOption::kVariadic ? &params.back() : nullptr;
}

}  // namespace

bool TypeSet::ContainsKind(TypeKind kind) const {
  constexpr std::uint64_t kLow = 0xffffffff;
  const auto has_map = [&](bool in_sequence) {
    for (std::size_t i = 0; i < std::size(kMaps); ++i) {
      const std::size_t bit = kMapBits + i;
      if (kMaps[i].in_sequence == in_sequence && ((bits[bit / 64] >> (bit % 64)) & 1) != 0) return true;
    }
    return false;
  };
  switch (kind) {
    case TypeKind::kTensor:
      return (bits[0] & kLow) != 0;
    case TypeKind::kSparseTensor:
      return (bits[0] & ~kLow) != 0;
    case TypeKind::kSequence:
      return (bits[1] & kLow) != 0 || has_map(true);
    case TypeKind::kOptional:
      return (bits[1] & ~kLow) != 0 || (bits[2] & kLow) != 0;
    case TypeKind::kMap:
      return has_map(false);
    case TypeKind::kNone:
      break;
  }
  return false;
}

bool TypeSet::Contains(DType element) const { return ((bits[0] >> static_cast<unsigned>(element)) & 1) != 0; }

bool TypeSet::Contains(const Type& type) const {
  const int bit = BitOf(type);
  return bit >= 0 && ((bits[static_cast<std::size_t>(bit / 64)] >> (bit % 64)) & 1) != 0;
}

std::vector<std::string> TypeSet::Names() const {
  std::vector<std::string> names;
  for (int bit = 0; bit < static_cast<int>(64 * bits.size()); ++bit) {
    if (((bits[static_cast<std::size_t>(bit / 64)] >> (bit % 64)) & 1) == 0) continue;
    if (bit >= kMapBits) {
      names.emplace_back(kMaps[bit - kMapBits].text);
    } else {
      const auto& [before, after] = kKindText[bit / 32];
      names.push_back(std::string(before) + ElementName(bit % 32) + std::string(after));
    }
  }
  return names;
}

std::string TypeSet::ToText() const {
  std::string text;
  for (const std::string& name : Names()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string_view FormalParam::name() const { return Text(name_at); }
std::string_view FormalParam::type() const { return Text(type_at); }
const TypeSet& FormalParam::types() const { return kTypeSets[set_index]; }
std::string_view TypeConstraint::name() const { return Text(name_at); }
const TypeSet& TypeConstraint::types() const { return kTypeSets[set_index]; }
std::string_view AttributeSpec::name() const { return Text(name_at); }

AttributeValue AttributeSpec::DefaultValue() const {
  if (default_count == 0) return {};
  switch (type) {  // the numbers of AttributeProto.AttributeType
    case 1:
      return kDefaultFloats[default_at];
    case 2:
      return kDefaultIntegers[default_at];
    case 3:
      return std::string(Text(kDefaultStrings[default_at]));
    case 6:
      return std::vector<float>(kDefaultFloats + default_at, kDefaultFloats + default_at + default_count);
    case 7:
      return std::vector<std::int64_t>(kDefaultIntegers + default_at, kDefaultIntegers + default_at + default_count);
    default:
      break;
  }
  std::vector<std::string> strings;  // 8: the generator refuses defaults of any other type
  for (int i = 0; i < default_count; ++i) strings.emplace_back(Text(kDefaultStrings[default_at + i]));
  return strings;
}

std::string_view OpSchema::domain() const { return Text(kDomains[domain_index].name_at); }
std::string_view OpSchema::name() const { return Text(name_at); }
std::span<const FormalParam> OpSchema::inputs() const { return {kParams + first_input, input_count}; }
std::span<const FormalParam> OpSchema::outputs() const { return {kParams + first_output, output_count}; }
std::span<const AttributeSpec> OpSchema::attributes() const { return {kAttributes + first_attribute, attribute_count}; }
std::span<const TypeConstraint> OpSchema::type_constraints() const {
  return {kConstraints + first_constraint, constraint_count};
}
const FormalParam* OpSchema::Input(std::size_t index) const { return ParamAt(inputs(), index); }
const FormalParam* OpSchema::Output(std::size_t index) const { return ParamAt(outputs(), index); }

const AttributeSpec* OpSchema::FindAttribute(std::string_view attribute) const {
  for (const AttributeSpec& spec : attributes())
    if (spec.name() == attribute) return &spec;
  return nullptr;
}

std::span<const OpSchema> AllSchemas() { return kSchemas; }

std::span<const OpSchema> SchemaVersions(std::string_view domain, std::string_view op_type) {
  static const SchemaIndex index = IndexOfSchemas();
  const auto found = index.find({DomainIndex(domain), op_type});
  return found == index.end() ? std::span<const OpSchema>() : found->second;
}

const OpSchema* FindSchema(std::string_view domain, std::string_view op_type, int opset_version) {
  const OpSchema* found = nullptr;
  for (const OpSchema& schema : SchemaVersions(domain, op_type))
    if (schema.since_version <= opset_version) found = &schema;
  return found;
}

std::vector<std::string_view> Domains() {
  std::vector<std::string_view> domains;
  for (const DomainRow& row : kDomains) domains.push_back(Text(row.name_at));
  return domains;
}

int NewestOpset(std::string_view domain) {
  const int index = DomainIndex(domain);
  return index < 0 ? 0 : kDomains[index].newest;
}

std::vector<std::string> AllOpTypes(std::string_view domain) {
  const int index = DomainIndex(domain);
  std::vector<std::string> names;
  for (const OpSchema& schema : kSchemas)
    if (schema.domain_index == index && (names.empty() || names.back() != schema.name()))
      names.emplace_back(schema.name());
  return names;
}

std::optional<Function> FunctionBody(const OpSchema& schema, int opset_version) {
  if (!schema.has_function_body()) return std::nullopt;
  const std::span<const FunctionRow> rows{kFunctions + schema.first_function, schema.function_count};  // ascending
  const FunctionRow* chosen = &rows[0];
  for (const FunctionRow& row : rows)
    if (row.opset_version <= opset_version) chosen = &row;
  const std::string text = "<ir_version: 10, opset_import: [\"\" : 1]>\nempty () => () {}\n";
  Model model = ParseModel(text + kFunctionBodies[chosen->body]);
  Function function = std::move(model.functions.at(0));
  std::vector<std::string> without_default;
  for (std::string& name : function.attributes) {
    const AttributeSpec* spec = schema.FindAttribute(name);
    if (spec && spec->has_default()) {
      function.attribute_defaults.push_back({name, spec->DefaultValue()});
    } else {
      without_default.push_back(std::move(name));
    }
  }
  function.attributes = std::move(without_default);
  return function;
}

}  // namespace sardonyx::ops
