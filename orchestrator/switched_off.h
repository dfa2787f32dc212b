#pragma once
// What a lane's gate says that is closed because of the type itself: where it is made and where it is explained.

#include <string_view>

namespace impresario::orchestrator {

inline constexpr std::string_view kNotRegistered = "the workflow type is not registered";
inline constexpr std::string_view kSwitchedOff = "the workflow type is switched off";

}
