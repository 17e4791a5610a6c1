// tools/cli/check_values.cpp - `sardonyx run --check-values`: statistics of every value, and the node of the first NaN.
#include "check_values.h"

#include <iostream>

#include "terminal.h"

namespace sardonyx::cli {
namespace {

using json = nlohmann::ordered_json;

std::string Figure(const json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? NumberText(row[key].get<double>()) : "";
}

std::string Maker(const json& maker) {
  if (maker.is_null()) return "none";
  const std::string node = maker["node"];
  std::string text = "made by " + (node.empty() ? "a node without a name" : "node '" + node + "'") + " (" +
                     maker["op_type"].get<std::string>() + ") in '" + maker["value"].get<std::string>() + "'";
  for (std::size_t i = maker["turns"].size(); i-- > 0;)
    text +=
        ", turn " + maker["turns"][i]["turn"].dump() + " of '" + maker["turns"][i]["graph"].get<std::string>() + "'";
  return text;
}

std::string ShapeOf(const json& shape) {
  std::string text;
  for (const json& dim : shape) text += (text.empty() ? "" : "x") + dim.dump();
  return text.empty() ? "scalar" : text;
}

}  // namespace

json CheckValues(const Session& session, const std::vector<Input>& inputs) {
  std::vector<Handle<OrtValue>> owned;
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const Input& input : inputs) {
    owned.push_back(ToValue(input.tensor));
    names.push_back(input.tensor.name.c_str());
    values.push_back(owned.back().get());
  }
  return json::parse(Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().RunCheckValues(session.get(), nullptr, names.data(), values.data(), values.size(), allocator,
                                     text);
  }));
}

void PrintValues(const json& found) {
  const std::vector<std::string> heads = {"value", "operator", "type", "shape", "min",
                                          "max",   "mean",     "std",  "NaN",   "infinite"};
  const auto table = [&](const json& values) {
    std::vector<std::vector<std::string>> rows = {heads};
    for (const json& row : values) {
      const std::string graph = row["graph"];
      rows.push_back({(graph.empty() ? "" : graph + ": ") + row["value"].get<std::string>(), row["op_type"],
                      row["type"], row["type"] == "sequence" || row["type"] == "map" ? "" : ShapeOf(row["shape"]),
                      Figure(row, "min"), Figure(row, "max"), Figure(row, "mean"), Figure(row, "std"),
                      Figure(row, "nan_count"), Figure(row, "infinity_count")});
    }
    return Columns(rows);
  };
  std::cout << Heading("Values, in the order of execution") << table(found["values"]) << "\n"
            << Columns({{"first NaN", Maker(found["first_nan"])}, {"first infinity", Maker(found["first_infinity"])}});
  for (const auto& [key, title] : {std::pair("first_nan", "Inputs of the node that made the first NaN"),
                                   std::pair("first_infinity", "Inputs of the node that made the first infinity")})
    if (!found[key].is_null() && !found[key]["inputs"].empty())
      std::cout << "\n" << Heading(title) << table(found[key]["inputs"]);
}

}  // namespace sardonyx::cli
