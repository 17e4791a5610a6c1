// capi/package/find.h - finds a component of a model package by its name.
#pragma once

#include "capi/package/package.h"

namespace sardonyx::capi {

// Fails with kInvalidArgument for NULL, naming the argument, and for a name that the package does not have.
const PackageComponent& FindComponent(const OrtModelPackageContext* context, const char* context_name,
                                      const char* component_name);

}  // namespace sardonyx::capi
