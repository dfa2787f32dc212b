#pragma once
// A provider that a service pays for: asked once in every run, before the work, and reported with its result.

#include <optional>
#include <string>
#include <string_view>

#include "platform/url.h"
#include "subworkflows/kit/service.h"

namespace impresario::subworkflows::kit {

/// "gemini=http://127.0.0.1:8091/v1/generate"; nullopt where it is not that.
std::optional<ProviderSettings> parse_provider_settings(std::string_view text);

/// Asks the provider about the run's input, then does the work, whose callback says what the provider has used and
/// cost. A provider that refuses, or cannot be reached, ends the run: the work is not done, and its failure says until
/// when.
Work billed(ProviderSettings provider, Work work);

}
