#pragma once
// What streams and subscribers choose events by: a few topics (004), each of some kinds of streams or of single types.

#include <optional>
#include <string_view>
#include <vector>

namespace impresario::journal {

struct Topic {
    std::string_view name;
    /// Of streams of this kind; empty: of the types listed.
    std::string_view kind;
    std::vector<std::string_view> types;

    bool has(std::string_view event_kind, std::string_view event_type) const;
};

/// All there are.
const std::vector<Topic>& topics();
/// nullptr: there is none of that name.
const Topic* find_topic(std::string_view name);

/// Whether a type is meant by "execution.completed", by "execution.*" or by "*.promise_broken".
bool type_matches(std::string_view pattern, std::string_view type);
/// Why this is no such pattern; empty: it is one.
std::string_view pattern_fault(std::string_view pattern);

}
