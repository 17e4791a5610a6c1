// capi/session_reports.h - reports on a session as JSON or lines of text: placement, memory plan, statistics of values.
#pragma once

#include <string>

#include "runtime/inspect/value_check.h"
#include "runtime/session.h"

namespace sardonyx::capi {

// The texts that SardonyxApi::SessionPlacement, SessionProviders, SessionPlan and RunCheckValues describe.
std::string PlacementJson(const runtime::Session& session);
std::string ProvidersJson(const runtime::Session& session);
std::string PlanJson(const runtime::Session& session);
std::string PlanLines(const runtime::Session& session);  // SessionPlanText
std::string ValuesJson(const runtime::ValueCheck& check);

}  // namespace sardonyx::capi
