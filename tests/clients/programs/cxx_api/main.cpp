// tests/clients/programs/cxx_api/main.cpp - a program that uses every class of ONNX Runtime's C++ header and prints
// what comes out, to be compared between two libraries.
// usage: cxx_api MODELS WRITTEN PROVIDER    (folders; a provider library, or - without one)
#include <functional>

#include "report.h"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  Ort::InitApi();
  const Places places{arguments[1], arguments[2], arguments[3]};
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"numbers", Numbers},
      {"values", [&] { Values(places); }},
      {"sparse values", [&] { SparseValues(places); }},
      {"types", [&] { Types(places); }},
      {"options", [&] { Options(places); }},
      {"runs", [&] { Runs(places); }},
      {"bindings", [&] { Bindings(places); }},
      {"custom operators", [&] { CustomOps(places); }},
      {"graphs", [&] { Graphs(places); }},
      {"devices", [&] { Devices(places); }},
      {"environments", [&] { Environments(places); }},
  };
  for (const auto& [name, part] : parts) {
    try {
      part();
      Say(std::string("all of ") + name, "done");
    } catch (const std::exception& error) {
      std::cerr << name << ": " << error.what() << '\n';
      Say(std::string("all of ") + name, "stopped by an error");
    }
  }
  return 0;
}
