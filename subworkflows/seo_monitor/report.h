#pragma once
// Outcomes as the callback that tells them.

#include <string>
#include <string_view>
#include <vector>

#include "domain/callback.h"
#include "subworkflows/seo_monitor/audit.h"

namespace impresario::subworkflows::seo_monitor {

/// `completed` where every page was audited, `failed` where none was, `partial` with items in between. Expects what
/// finish() has been over.
domain::Callback callback_of(const std::vector<PageOutcome>& outcomes, int requests);

/// A run that could not begin; asking again would not help.
domain::Callback refusal(std::string_view message);

}
