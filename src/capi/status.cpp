// capi/status.cpp - the functions of OrtStatus.
#include "capi/handles/status.h"

#include "capi/functions.h"

namespace sardonyx::capi {

OrtStatus* ORT_API_CALL CreateStatus(OrtErrorCode code, const char* msg) noexcept { return MakeStatus(code, msg); }

OrtErrorCode ORT_API_CALL GetErrorCode(const OrtStatus* status) noexcept {
  return Given(status) ? status->code : ORT_OK;
}

const char* ORT_API_CALL GetErrorMessage(const OrtStatus* status) noexcept {
  return Given(status) ? status->message.c_str() : "";
}

void ORT_API_CALL ReleaseStatus(OrtStatus* input) noexcept { FreeStatus(input); }

}  // namespace sardonyx::capi
