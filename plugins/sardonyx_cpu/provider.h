// plugins/sardonyx_cpu/provider.h - the provider of one session of the host: which nodes it takes, and what they
// become.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apis.h"
#include "group.h"

namespace sardonyx_cpu {

class Provider : public OrtEp {
 public:
  Provider(const OwnRuntime& own, const OrtSessionOptions& options);

 private:
  using Opsets = std::vector<std::pair<std::string, std::int64_t>>;

  void Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support);
  bool TakesWhole(const OrtGraph& body);
  bool Takes(const OrtNode& node, const Opsets& opsets);
  bool HasKernel(const OrtNode& node, const Opsets& opsets) const;
  std::string Signature(const OrtNode& node) const;

  const OwnRuntime& own_;
  GraphReader reader_;
  int threads_ = 0;
  std::map<std::string, bool> taken_;  // by signature: whether Sardonyx has a kernel
};

}  // namespace sardonyx_cpu
