#include "domain/time.h"

#include "fuzz/targets.h"

namespace impresario::fuzz {

void time(std::string_view bytes) {
    const auto at = domain::parse_time(bytes);
    if (!at) return;
    const std::string text = domain::rfc3339(*at);
    require(text.size() == 27 && text >= "0001" && text < "9999-12-31T24", "a time lies in the years 1 to 9999", text);
    require(domain::parse_time(text) == at, "a time goes there and back", text);
}

}
