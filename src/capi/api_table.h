// capi/api_table.h - the static tables that the getters of the C ABI hand out.
#pragma once

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sardonyx::capi {

const OrtApiBase& ApiBase();
const SardonyxApi& OwnApi();

}  // namespace sardonyx::capi
