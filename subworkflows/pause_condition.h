#pragma once
// What may end a pause by itself, beside its time.

#include <cstdint>
#include <optional>
#include <string_view>

namespace impresario::subworkflows {

struct PauseCondition {
    enum class Kind {
        /// "queue_below:N": fewer than N wait in the lanes that it does not stop.
        queue_below,
        /// "endpoints_healthy": of what it stops no endpoint is held or has an open breaker.
        endpoints_healthy,
    };
    Kind kind = Kind::endpoints_healthy;
    std::int64_t value = 0;
};

std::optional<PauseCondition> parse_pause_condition(std::string_view text);

}
