#include "journal/topic.h"

#include <algorithm>

#include "domain/event.h"

namespace impresario::journal {

namespace event = domain::event;

bool Topic::has(std::string_view event_kind, std::string_view event_type) const {
    if (!kind.empty()) return event_kind == kind;
    return std::find(types.begin(), types.end(), event_type) != types.end();
}

const std::vector<Topic>& topics() {
    static const std::vector<Topic> all{
        {"executions", "execution", {}},
        {"lanes", "lane", {}},
        {"limits", "provider", {}},
        {"budgets", "budget", {}},
        {"nodes", "node", {}},
        {"subscribers", "subscriber", {}},
        {"timers", "timer", {}},
        {"alerts", "alert", {}},
        // What somebody may want to look at.
        {"notifications",
         "",
         {event::dead,
          event::starving,
          event::lane_paused,
          event::lane_resumed,
          event::breaker_opened,
          event::breaker_closed,
          event::budget_step_begun,
          event::budget_step_ended,
          event::provider_cooling,
          event::provider_recovered,
          event::subscriber_failing,
          event::subscriber_recovered,
          event::subscriber_disabled,
          event::subscriber_enabled,
          event::node_leads,
          event::node_pressed,
          event::node_eased,
          event::node_illegal_move,
          event::alert_raised,
          event::alert_acknowledged,
          event::alert_resolved,
          event::lane_promise_broken,
          event::node_promise_broken}},
        // What goes out to the peers, and comes back.
        {"webhooks",
         "",
         {event::dispatched, event::accepted, event::unknown, event::progress, event::refused, event::endpoint_held,
          event::endpoint_released, event::breaker_opened, event::breaker_half_open, event::breaker_closed,
          event::subscriber_failing, event::subscriber_recovered, event::subscriber_disabled,
          event::subscriber_enabled}},
        // What an organization has changed about its own things.
        {"workspaces",
         "",
         {event::lane_registered, event::lane_changed, event::lane_removed, event::lane_paused, event::lane_resumed,
          event::provider_changed, event::provider_removed, event::budget_changed, event::budget_retired,
          event::budget_approved, event::subscriber_changed}},
    };
    return all;
}

const Topic* find_topic(std::string_view name) {
    const auto& all = topics();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Topic& each) { return each.name == name; });
    return found == all.end() ? nullptr : &*found;
}

bool type_matches(std::string_view pattern, std::string_view type) {
    if (pattern.ends_with(".*")) return type.starts_with(pattern.substr(0, pattern.size() - 1));
    if (pattern.starts_with("*.")) return type.ends_with(pattern.substr(1));
    return type == pattern;
}

std::string_view pattern_fault(std::string_view pattern) {
    const auto dot = pattern.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == pattern.size())
        return "must be a type of events, as in execution.completed, execution.* or *.promise_broken";
    const auto of_a_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    const auto part_is_right = [&](std::string_view part) {
        return part == "*" || std::all_of(part.begin(), part.end(), of_a_name);
    };
    if (!part_is_right(pattern.substr(0, dot)) || !part_is_right(pattern.substr(dot + 1)))
        return "has a character that no type of events has";
    if (pattern == "*.*") return "means every type: leave it out";
    return {};
}

}
