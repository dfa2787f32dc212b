#include "platform/zone.h"

#include <stdexcept>

namespace impresario::platform {

const date::time_zone* find_zone(std::string_view name) {
    try {
        return date::locate_zone(name);
    } catch (const std::runtime_error&) {
        return nullptr;
    }
}

std::chrono::seconds offset_at(const date::time_zone* zone, domain::TimePoint at) {
    return zone ? zone->get_info(std::chrono::floor<std::chrono::seconds>(at)).offset : std::chrono::seconds{0};
}

domain::TimePoint first_reached(const date::time_zone* zone, date::local_seconds local) {
    if (!zone) return domain::TimePoint{local.time_since_epoch()};
    const auto info = zone->get_info(local);
    if (info.result == date::local_info::nonexistent) return info.first.end;
    return domain::TimePoint{local.time_since_epoch() - info.first.offset};
}

}
