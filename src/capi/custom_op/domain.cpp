// capi/custom_op/domain.cpp - domains of custom operators, and the session options that have them.
#include "capi/custom_op/domain.h"

#include <memory>
#include <utility>

#include "capi/custom_op/operators.h"
#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

// What the caller has added to session options. Never changed once it is there, because clones of the options share it.
class AddedDomains final : public OperatorSource {
 public:
  std::shared_ptr<const ops::Registry> Make(const ops::Registry& built_in, Logger logger,
                                            const std::map<std::string, std::string>& config) const override {
    auto made = std::make_shared<CustomOperators>(built_in, std::move(logger), config, libraries);
    for (const OrtCustomOpDomain* domain : domains) made->Add(*domain);
    return {made, &made->registry()};
  }

  std::vector<const OrtCustomOpDomain*> domains;  // of the caller
  std::vector<std::shared_ptr<void>> libraries;   // shared with the sessions
};

// The options' domains, to be changed.
std::shared_ptr<AddedDomains> CopyOf(const OrtSessionOptions& options) {
  if (options.custom_operators == nullptr) return std::make_shared<AddedDomains>();
  return std::make_shared<AddedDomains>(static_cast<const AddedDomains&>(*options.custom_operators));
}

}  // namespace

void KeepLibrary(OrtSessionOptions& options, std::shared_ptr<void> library) {
  const std::shared_ptr<AddedDomains> changed = CopyOf(options);
  changed->libraries.push_back(std::move(library));
  options.custom_operators = changed;
}

OrtStatusPtr ORT_API_CALL CreateCustomOpDomain(const char* domain, OrtCustomOpDomain** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    *out = std::make_unique<OrtCustomOpDomain>(OrtCustomOpDomain{&Need(domain, "domain"), {}}).release();
  });
}

OrtStatusPtr ORT_API_CALL CustomOpDomain_Add(OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op) noexcept {
  return Guard([&] {
    OrtCustomOpDomain& domain = Need(custom_op_domain, "custom_op_domain");
    const Signature checked(Need(op, "op"));  // a struct that cannot be used is told of here
    domain.ops.push_back(checked.op);
  });
}

OrtStatusPtr ORT_API_CALL AddCustomOpDomain(OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    const std::shared_ptr<AddedDomains> changed = CopyOf(target);
    changed->domains.push_back(&Need(custom_op_domain, "custom_op_domain"));
    target.custom_operators = changed;
  });
}

void ORT_API_CALL ReleaseCustomOpDomain(OrtCustomOpDomain* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi
