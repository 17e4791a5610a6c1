// capi/custom_op/domain.cpp - domains of custom operators, and the session options that have them.
#include "capi/custom_op/domain.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/custom_op/operators.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/provider_choice.h"
#include "providers/plugin/fields.h"

namespace sardonyx::capi {
namespace {

std::size_t CountDomains(const plugin::Factory& factory) {
  const auto count_domains =
      plugin::FieldOf(static_cast<const OrtEpFactory*>(factory.handle()), &OrtEpFactory::GetNumCustomOpDomains);
  std::size_t count = 0;
  if (count_domains != nullptr)
    CallOut((factory.name() + ": OrtEpFactory::GetNumCustomOpDomains").c_str(), count_domains, factory.handle(),
            &count);
  return count;
}

// The factory's, which owns them.
std::vector<OrtCustomOpDomain*> DomainsOf(const plugin::Factory& factory) {
  constexpr std::size_t kMost = 1 << 16;
  const std::string callee = factory.name() + ": OrtEpFactory::GetCustomOpDomains";
  const std::size_t count = CountDomains(factory);
  if (count > kMost) Fail(Code::kEpFail, callee, ": expected at most ", kMost, " domains, found ", count);
  std::vector<OrtCustomOpDomain*> domains(count);
  if (count == 0) return domains;
  const auto get_domains =
      plugin::FieldOf(static_cast<const OrtEpFactory*>(factory.handle()), &OrtEpFactory::GetCustomOpDomains);
  if (get_domains == nullptr) Fail(Code::kEpFail, callee, ": expected a function that gives ", count, " domains");
  CallOut(callee.c_str(), get_domains, factory.handle(), domains.data(), domains.size());
  for (const OrtCustomOpDomain* domain : domains)
    if (domain == nullptr) Fail(Code::kEpFail, callee, ": expected ", count, " domains, found NULL among them");
  return domains;
}

// What the caller has added to session options. Never changed once it is there, because clones of the options share it.
class AddedDomains final : public OperatorSource {
 public:
  std::shared_ptr<const ops::Registry> Make(const ops::Registry& built_in, Logger logger,
                                            const std::map<std::string, std::string>& config) const override {
    std::vector<std::shared_ptr<void>> kept = libraries;
    std::vector<const OrtCustomOpDomain*> all = domains;
    for (const FactoryPlace& place : factories) {
      const std::shared_ptr<plugin::Library> library = place.library.lock();
      if (library == nullptr) continue;  // unregistered: its provider cannot be made either
      const std::vector<OrtCustomOpDomain*> brought = DomainsOf(*place.factory);
      all.insert(all.end(), brought.begin(), brought.end());
      kept.push_back(library);
    }
    auto made = std::make_shared<CustomOperators>(built_in, std::move(logger), config, std::move(kept));
    for (const OrtCustomOpDomain* domain : all) made->Add(*domain);
    return {made, &made->registry()};
  }

  std::vector<const OrtCustomOpDomain*> domains;  // of the caller
  std::vector<std::shared_ptr<void>> libraries;   // shared with the sessions
  // Providers' factories with domains of their own. Options do not keep their libraries.
  struct FactoryPlace {
    std::weak_ptr<plugin::Library> library;
    const plugin::Factory* factory;
  };
  std::vector<FactoryPlace> factories;
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

void AddOperatorsOf(const std::shared_ptr<plugin::Library>& library, const plugin::Factory& factory,
                    OrtSessionOptions& options) {
  if (CountDomains(factory) == 0) return;
  const std::shared_ptr<AddedDomains> changed = CopyOf(options);
  changed->factories.push_back({library, &factory});
  options.custom_operators = changed;
}

OrtStatusPtr ORT_API_CALL CreateCustomOpDomain(const char* domain, OrtCustomOpDomain** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    *out = std::make_unique<OrtCustomOpDomain>(OrtCustomOpDomain{{}, &Need(domain, "domain"), {}}).release();
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
