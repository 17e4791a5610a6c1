// ir/function_index.h - finds a model's functions by name, quickly even in a model that has very many.
#pragma once

#include <map>
#include <string_view>
#include <tuple>

#include "ir/graph.h"

namespace sardonyx {

// Refers to `model`, which must outlive it and must not change its functions. Those of ai.sardonyx are for others
// (runtime/saving/own_functions.h): this library has the operators themselves.
class FunctionIndex {
 public:
  FunctionIndex(const Model& model);  // NOLINT(google-explicit-constructor): a model converts to its functions
  // nullptr if the model has no such function. "ai.onnx" means "".
  const Function* Find(std::string_view domain, std::string_view name, std::string_view overload) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Function*> functions_;
};

}  // namespace sardonyx
