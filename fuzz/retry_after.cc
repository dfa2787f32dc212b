#include "fuzz/targets.h"
#include "webhooks/outcome.h"

namespace impresario::fuzz {

void retry_after(std::string_view bytes) {
    const auto now = domain::from_micros(1'795'000'000'000'000);
    const auto wait = webhooks::retry_after(bytes, now);
    if (!wait) return;
    require(*wait >= std::chrono::seconds{1} && *wait <= std::chrono::hours{24}, "a wait is from 1 s to 24 h");
    require(bytes.front() != '-' || *wait == std::chrono::seconds{1}, "a negative wait is the shortest");
}

}
