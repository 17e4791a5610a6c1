// runtime/shared_models.h - what sessions of one file know of it, kept once in the process.
#pragma once

#include <memory>

#include "ir/graph.h"

namespace sardonyx::runtime {

// The same model (ir/equal.h) as another session holds it, if one does; else `own`, which later sessions may share from
// now on: nobody changes it any more. Thread-safe.
std::shared_ptr<const Model> SharedModel(std::shared_ptr<const Model> own);

}  // namespace sardonyx::runtime
