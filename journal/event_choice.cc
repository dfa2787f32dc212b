#include "journal/event_choice.h"

#include <algorithm>

namespace impresario::journal {

bool EventChoice::matches(std::string_view kind, std::string_view type, std::string_view workflow_type) const {
    const auto of_topic = [&](const Topic* each) { return each->has(kind, type); };
    if (!topics.empty() && std::none_of(topics.begin(), topics.end(), of_topic)) return false;
    if (!workflow_types.empty() &&
        std::find(workflow_types.begin(), workflow_types.end(), workflow_type) == workflow_types.end())
        return false;
    return has_type(type);
}

bool EventChoice::has_type(std::string_view type) const {
    return types.empty() ||
           std::any_of(types.begin(), types.end(), [&](const std::string& each) { return type_matches(each, type); });
}

std::string topic_names() {
    std::string names;
    for (const auto& each : topics()) names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

}
