#pragma once
// Which events somebody wants to hear of: a reader of a stream, or a subscriber.

#include <string>
#include <string_view>
#include <vector>

#include "journal/topic.h"

namespace impresario::journal {

struct EventChoice {
    /// Of any of these; none: of all.
    std::vector<const Topic*> topics;
    /// Matching any of these; none: all.
    std::vector<std::string> types;
    /// Of any of these workflow types; none: of all, and of what is of none.
    std::vector<std::string> workflow_types;

    bool matches(std::string_view kind, std::string_view type, std::string_view workflow_type) const;
    bool has_type(std::string_view type) const;
};

/// Those that there are, for who has named another: "executions, lanes, …".
std::string topic_names();

}
