// testing/operators_page_test.cpp - compares docs/operators.md (operators, versions, types) with the registry.
//
// The page is written from the registry and the schema table. SDX_UPDATE=1 in the environment updates it.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "ops/schema/schema.h"
#include "testing/generated_page.h"

namespace sardonyx::ops {
namespace {

constexpr const char* kHead = R"(# Operators

This page is generated from the operator registry; `SDX_UPDATE=1 build/release/bin/unit_tests
--gtest_filter='OperatorsPage*'` renews it.

- **versions** lists the opset versions that introduced or changed the operator and that Sardonyx implements. The opset
  of a model selects one of them.
- **types** lists the element types of the operator's main input. *Floats* are float, double, float16 and bfloat16;
  *integers* are int8 to int64 and uint8 to uint64; *float8* stands for all five float8 types; *small* are int4, uint4,
  int2, uint2 and float4e2m1; *complex* are complex64 and complex128. *By node* means that the operator itself checks
  the types of each node.
- **missing** lists versions and types that the standard has and Sardonyx does not implement. A model that needs them is
  refused with an error that says so.

)";

struct TypeGroup {
  std::string_view name;
  DTypeSet types;
};
constexpr TypeGroup kGroups[] = {
    {"floats", kIeeeFloats}, {"integers", kIntegers}, {"bool", {DType::kBool}}, {"string", {DType::kString}},
    {"complex", kComplexes}, {"float8", kFloat8s},    {"small", kSubBytes},
};

DType DTypeAt(int number) { return static_cast<DType>(number); }

// "floats, int32, int64": whole groups by name, parts of one by their types.
std::string TypesText(DTypeSet types) {
  std::string text;
  const auto add = [&](std::string_view word) { text.append(text.empty() ? "" : ", ").append(word); };
  for (const TypeGroup& group : kGroups) {
    std::vector<std::string_view> found;
    std::size_t size = 0;
    for (int i = 1; i < kDTypeCount; ++i) {
      if (!group.types.Has(DTypeAt(i))) continue;
      ++size;
      if (types.Has(DTypeAt(i))) found.push_back(Name(DTypeAt(i)));
    }
    if (found.size() == size) {
      add(group.name);
    } else {
      for (const std::string_view name : found) add(name);
    }
  }
  return text;
}

struct Coverage {
  std::map<int, bool> versions;  // of the standard; true: covered
  DTypeSet types;
  bool decides_alone = false;
  DTypeSet standard_types;
};

DTypeSet SchemaTypes(const OpSchema& schema, int typed_input) {
  DTypeSet types;
  const FormalParam* param =
      schema.inputs().empty() ? schema.Output(0) : schema.Input(static_cast<std::size_t>(typed_input));
  if (param == nullptr) return types;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (param->types().Contains(DTypeAt(i))) types = types | DTypeSet{DTypeAt(i)};
  }
  return types;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The words after `head`, separated by commas, in lines of at most 120 columns.
std::string Paragraph(std::string head, const std::vector<std::string>& words) {
  std::string text, line = std::move(head);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = " " + words[i] + (i + 1 < words.size() ? "," : ".");
    if (line.size() + word.size() > 120) {
      text += line + "\n";
      line = word.substr(1);
    } else {
      line += word;
    }
  }
  return text + line + "\n";
}

std::string RowText(std::string_view name, const Coverage& coverage) {
  std::vector<std::string> versions;
  std::vector<std::string> open;
  for (const auto& [version, covered] : coverage.versions)
    (covered ? versions : open).push_back(std::to_string(version));
  std::string missing = open.empty() ? "" : "version " + Join(open);
  DTypeSet open_types;
  for (int i = 1; i < kDTypeCount && !coverage.decides_alone; ++i) {
    if (coverage.standard_types.Has(DTypeAt(i)) && !coverage.types.Has(DTypeAt(i))) {
      open_types = open_types | DTypeSet{DTypeAt(i)};
    }
  }
  if (!open_types.empty()) missing += (missing.empty() ? "" : "; ") + TypesText(open_types);
  const std::string types = coverage.decides_alone ? "by node" : TypesText(coverage.types);
  std::ostringstream row;
  row << "| " << name << " | " << Join(versions) << " | " << types << " | " << missing << " |\n";
  return row.str();
}

using OperatorKey = std::pair<std::string_view, std::string_view>;  // domain, name

std::map<OperatorKey, Coverage> Collect(const Registry& registry) {
  std::map<OperatorKey, Coverage> all;
  for (const OpDef* op : registry.All()) {
    Coverage& coverage = all[{op->domain, op->name}];
    for (const int version : op->since) coverage.versions[version] = true;
    coverage.types = coverage.types | op->types;
    coverage.decides_alone |= op->types.empty();
    for (const OpSchema& schema : SchemaVersions(op->domain, op->name)) {
      if (schema.deprecated()) continue;
      coverage.versions.try_emplace(schema.since_version, false);
      coverage.standard_types = SchemaTypes(schema, op->typed_input);  // the newest counts
    }
  }
  return all;
}

std::string Page(const Registry& registry) {
  const std::map<OperatorKey, Coverage> covered = Collect(registry);
  std::map<std::string_view, std::vector<std::string>> missing;  // by domain
  for (const OpSchema& schema : AllSchemas()) {
    const bool newest = FindSchema(schema.domain(), schema.name()) == &schema;
    if (newest && !schema.deprecated() && !covered.contains({schema.domain(), schema.name()})) {
      missing[schema.domain()].emplace_back(schema.name());
    }
  }
  std::string page = kHead;
  std::string_view domain = "none yet";
  for (const auto& [key, coverage] : covered) {
    if (key.first != domain) {
      domain = key.first;
      page += "\n## " + std::string(domain.empty() ? "ai.onnx" : domain) +
              "\n\n| operator | versions | types | missing |\n";
      page += "|---|---|---|---|\n";
    }
    page += RowText(key.second, coverage);
  }
  page += "\n## Not implemented\n";
  for (const auto& [name, operators] : missing) {
    page += "\n" + Paragraph(std::string(name.empty() ? "ai.onnx" : name) + ":", operators);
  }
  return page;
}

TEST(OperatorsPage, SaysWhatTheRegistrySays) {
  testing::ExpectPage(SDX_SOURCE_DIR, "docs/operators.md", Page(Registry()));
}

}  // namespace
}  // namespace sardonyx::ops
