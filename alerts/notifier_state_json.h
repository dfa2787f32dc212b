#pragma once
// How far everybody has been told, as it is kept between turns.

#include <optional>
#include <string>
#include <string_view>

#include "alerts/notifier_plan.h"

namespace impresario::alerts {

std::string state_json(const Group& group);
std::string state_json(const ReceiverState& receiver);

/// Unknown members are passed over, so that a newer version's is read. nullopt: it is not readable at all.
std::optional<Group> parse_group(std::string_view json);
std::optional<ReceiverState> parse_receiver_state(std::string_view json);

}
