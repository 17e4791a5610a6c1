// tests/clients/programs/cxx_api/report.h - what the parts of the program have in common: printing results that two
// libraries must agree on.
#pragma once
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Where the program finds and writes files.
struct Places {
  std::string models, written, provider;
};

void Numbers();
void Values(const Places&);
void SparseValues(const Places&);
void Types(const Places&);
void Options(const Places&);
void Runs(const Places&);
void Bindings(const Places&);
void Environments(const Places&);
void CustomOps(const Places&);
void Graphs(const Places&);
void Devices(const Places&);

namespace report {

template <typename T>
void Word(std::ostream& out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out << ' ' << static_cast<long long>(value);
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>) {
    out << ' ' << static_cast<int>(value);
  } else {
    out << ' ' << value;
  }
}

template <typename T>
void Word(std::ostream& out, const std::vector<T>& values) {
  out << " [";
  for (const auto& value : values) Word(out, static_cast<const T&>(value));
  out << " ]";
}

}  // namespace report

// Prints a result: its name, and words or numbers.
template <typename... T>
void Say(const std::string& name, const T&... words) {
  std::ostringstream line;
  line << "result " << name << ':';
  (report::Word(line, words), ...);
  std::cout << line.str() << std::endl;
}

// Prints whether `call` throws an error of the library. Codes and words are compared elsewhere (docs/c_abi.md).
template <typename Call>
void SayOutcome(const std::string& name, Call&& call) {
  try {
    std::forward<Call>(call)();
    Say(name, "works");
  } catch (const Ort::Exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    Say(name, "refused");
  }
}

// The elements of a tensor.
template <typename T, typename Value>
std::vector<T> Elements(const Value& value) {
  const T* data = value.template GetTensorData<T>();
  return std::vector<T>(data, data + value.GetTensorTypeAndShapeInfo().GetElementCount());
}

template <typename T>
Ort::Value Tensor(std::vector<T>& data, const std::vector<int64_t>& shape) {
  const auto place = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  return Ort::Value::CreateTensor<T>(place, data.data(), data.size(), shape.data(), shape.size());
}

inline Ort::Env& TheEnv() {
  static Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "cxx_api");
  return env;
}
