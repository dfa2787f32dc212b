#pragma once
// What a definition was at a time, by whom and why.

#include <string>
#include <vector>

#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::resource_manager {

struct DefinitionVersion {
    int version = 0;
    /// JSON; empty: from then on there was none.
    std::string definition;
    domain::TimePoint at;
    std::string by;
    std::string reason;
};

/// Rows of these five, in their order.
std::vector<DefinitionVersion> read_versions(const platform::Rows& rows);

}
