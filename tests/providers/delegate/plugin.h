// tests/providers/delegate/plugin.h - a plug-in that takes parts of any model: it hands each back to the runtime that
// has loaded it, as a model of its own. So models of all kinds can be cut in any place, and nothing may change.
//
// Its options (docs/write_a_provider.md says how they are given): `percent` of the nodes are taken, chosen by `seed`,
// in groups of up to `most` nodes; `drop_constants`: 1 has it keep copies of the constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../small_plugin.h"

namespace delegate {

using namespace small_plugin;

inline constexpr const char* kName = "DelegatingProvider";
inline constexpr std::uint32_t kVersion = 23;  // of the interface

extern const OrtModelEditorApi* editor;
extern OrtEnv* env;

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
