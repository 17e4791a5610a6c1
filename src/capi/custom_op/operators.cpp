// capi/custom_op/operators.cpp - makes registry rows of OrtCustomOps.
#include "capi/custom_op/operators.h"

#include <algorithm>
#include <utility>

#include "ir/domain.h"
#include "ops/schema/schema.h"

namespace sardonyx::capi {

CustomOperators::CustomOperators(const ops::Registry& built_in, Logger logger,
                                 std::map<std::string, std::string> config,
                                 std::vector<std::shared_ptr<void>> libraries)
    : libraries_(std::move(libraries)), logger_(std::move(logger)), config_(std::move(config)), registry_(built_in) {}

void CustomOperators::Add(const OrtCustomOpDomain& domain) {
  const std::string name(StandardDomain(domain.name));
  for (const OrtCustomOp* op : domain.ops) {
    Signature signature(*op);
    // Nothing known by a built-in operator's name may be taken for what the library means by it.
    const bool replaces = ops::FindSchema(name, signature.name) != nullptr;
    const std::string row_domain = replaces ? ops::ReplacingDomain(name) : name;
    const auto same = std::find_if(operators_.begin(), operators_.end(), [&](const CustomOperator& other) {
      return other.own_name == signature.name && other.own_domain == row_domain &&
             other.since.items[0] == signature.start_version;
    });
    if (same != operators_.end()) {
      const bool again = std::any_of(same->overloads.begin(), same->overloads.end(),
                                     [&](const Signature& overload) { return overload.op == op; });
      if (again) continue;
      // A plan does not know which of them runs: what one of them does not allow, none does.
      std::erase_if(same->in_place, [&](const auto& pair) {
        return std::find(signature.in_place.begin(), signature.in_place.end(), pair) == signature.in_place.end();
      });
      same->overloads.push_back(std::move(signature));
      continue;
    }
    CustomOperator& added = operators_.emplace_back();
    added.session = this;
    added.own_name = signature.name;
    added.own_domain = row_domain;
    added.name = added.own_name;
    added.domain = added.own_domain;
    added.since = {signature.start_version};
    added.infer = InferCustom;
    added.prepare = PrepareCustom;
    added.traits = ops::kCustom | ops::kRandom | ops::kSizedByElements;
    added.in_place = signature.in_place;
    added.overloads.push_back(std::move(signature));
    registry_.AddCustom(added, name);
  }
}

std::shared_ptr<const KernelSession> CustomOperators::kernel_session() {
  const std::shared_ptr<const ops::Registry> operators(shared_from_this(), &registry_);
  KernelSession session{.logger = {{}, logger_}, .config = config_, .operators = operators, .provider = {}};
  return std::make_shared<const KernelSession>(std::move(session));
}

void CustomOperators::WarnOfShapes(const Signature& signature, const Error& error) {
  {
    const std::scoped_lock lock(warned_mutex_);
    if (!warned_of_shapes_.insert(&signature).second) return;
  }
  logger_.Warn(error.what(), "; the shapes of its outputs are known only when it runs");
}

}  // namespace sardonyx::capi
