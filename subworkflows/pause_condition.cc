#include "subworkflows/pause_condition.h"

#include <charconv>

namespace impresario::subworkflows {

std::optional<PauseCondition> parse_pause_condition(std::string_view text) {
    using Kind = PauseCondition::Kind;
    if (text == "endpoints_healthy") return PauseCondition{Kind::endpoints_healthy, 0};
    constexpr std::string_view below = "queue_below:";
    if (!text.starts_with(below)) return std::nullopt;
    const auto number = text.substr(below.size());
    PauseCondition condition{Kind::queue_below, 0};
    const auto read = std::from_chars(number.data(), number.data() + number.size(), condition.value);
    const bool whole = read.ec == std::errc{} && read.ptr == number.data() + number.size();
    if (!whole || condition.value < 1) return std::nullopt;
    return condition;
}

}
