// capi/custom_op/operators.h - the operators of a session that has custom ones.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/logging.h"
#include "capi/custom_op/signature.h"
#include "capi/handles/kernel_info.h"
#include "capi/handles/kind.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "planner/in_place_op.h"

struct OrtCustomOpDomain {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kCustomOpDomain> mark;
  std::string name;
  std::vector<const OrtCustomOp*> ops;  // of the caller, who keeps them until the last session is gone
};

namespace sardonyx::capi {

class CustomOperators;

// All OrtCustomOps of one name and version: overloads, chosen by the types of the inputs. It is the operator's row, so
// that contexts lead to it.
struct CustomOperator : planner::InPlaceOp {
  CustomOperators* session = nullptr;
  std::string own_name, own_domain;  // what the row's views point to
  std::vector<Signature> overloads;
};

// A registry with custom operators, and what their kernels share. Kernels hold it, so that it outlives them.
class CustomOperators : public std::enable_shared_from_this<CustomOperators> {
 public:
  // `libraries` are closed when the last kernel is gone.
  CustomOperators(const ops::Registry& built_in, Logger logger, std::map<std::string, std::string> config,
                  std::vector<std::shared_ptr<void>> libraries);
  CustomOperators(const CustomOperators&) = delete;
  CustomOperators& operator=(const CustomOperators&) = delete;

  void Add(const OrtCustomOpDomain& domain);
  const ops::Registry& registry() const { return registry_; }
  const Logger& logger() const { return logger_; }
  std::shared_ptr<const KernelSession> kernel_session();
  // Logs that a shape function failed; once for each operator, because it is called for every new shape.
  void WarnOfShapes(const Signature& signature, const Error& error);

 private:
  std::vector<std::shared_ptr<void>> libraries_;  // shared by sessions; first, so that they are closed last
  Logger logger_;
  std::map<std::string, std::string> config_;
  std::deque<CustomOperator> operators_;
  ops::Registry registry_;
  std::mutex warned_mutex_;
  std::set<const Signature*> warned_of_shapes_;
};

// The functions of a custom operator's row.
void InferCustom(ops::InferContext& context);
ops::Prepared PrepareCustom(ops::PrepareContext& context);

}  // namespace sardonyx::capi
