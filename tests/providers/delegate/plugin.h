// tests/providers/delegate/plugin.h - a plug-in that takes parts of any model: it hands each back to the runtime that
// has loaded it, as a model of its own. So models of all kinds can be cut in any place, and nothing may change.
//
// Its options (docs/write_a_provider.md says how they are given): `percent` of the nodes are taken, chosen by `seed`,
// in groups of up to `most` nodes; `drop_constants`: 1 has it keep copies of the constants.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace delegate {

inline constexpr const char* kName = "DelegatingProvider";
inline constexpr std::uint32_t kVersion = 23;  // of the interface

extern const OrtApi* api;
extern const OrtEpApi* ep_api;
extern const OrtModelEditorApi* editor;
extern OrtEnv* env;

struct Failure : std::exception {
  explicit Failure(OrtStatus* from) : status(from) {}
  OrtStatus* status;
};
inline void Check(OrtStatus* status) {
  if (status != nullptr) throw Failure(status);
}
[[noreturn]] inline void Fail(const std::string& text) { throw Failure(api->CreateStatus(ORT_EP_FAIL, text.c_str())); }

// Runs the body of a function that the runtime calls.
template <typename Body>
OrtStatus* Guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_EP_FAIL, error.what());
  }
}

std::vector<const OrtNode*> NodesOf(const OrtGraph* graph);
std::vector<const OrtValueInfo*> InputsOf(const OrtNode* node);   // NULL where one is missing
std::vector<const OrtValueInfo*> OutputsOf(const OrtNode* node);  // likewise
std::string NameOf(const OrtValueInfo* info);

// ---- inner_session.cpp
// A part of a model, as a session.
class InnerSession {
 public:
  explicit InnerSession(const OrtGraph* graph);
  ~InnerSession();
  InnerSession(const InnerSession&) = delete;
  InnerSession& operator=(const InnerSession&) = delete;
  void Run(OrtKernelContext* context) const;

 private:
  OrtSession* session_ = nullptr;
  std::vector<std::size_t> places_;  // by input of the session: which one of the node's it is
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace delegate
