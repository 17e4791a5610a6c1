// capi/provider_choice.h - puts providers of plug-ins into the options of a session.
#pragma once

#include <span>
#include <vector>

#include "capi/env.h"
#include "capi/options.h"
#include "runtime/options.h"

namespace sardonyx::capi {

// The provider of these devices, which must be of one factory of a registered library.
runtime::ProviderChoice ChoiceOf(const OrtEnv& env, std::span<const OrtEpDevice* const> devices);

// The operators that a provider's factory brings (capi/custom_op/domain.cpp): sessions with these options know them.
void AddOperatorsOf(const std::shared_ptr<plugin::Library>& library, const plugin::Factory& factory,
                    OrtSessionOptions& options);

// Those of `devices` that the caller's policy or function chooses for a model, the best first; none without either.
std::vector<const OrtEpDevice*> SelectDevices(std::span<const OrtEpDevice* const> devices, const EpSelection& selection,
                                              const Model& model);
// One choice for each provider, in the order of the devices.
std::vector<runtime::ProviderChoice> ChoicesOf(const OrtEnv& env, const std::vector<const OrtEpDevice*>& devices);

// Has the session choose its providers, as the caller's policy or function says, if it was given none.
void ChooseLater(const OrtEnv& env, const EpSelection& selection, runtime::SessionOptions& options);

}  // namespace sardonyx::capi
