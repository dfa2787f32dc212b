#include "domain/callback.h"

#include <array>
#include <utility>

namespace impresario::domain {

namespace {
constexpr std::array<std::pair<CallbackStatus, std::string_view>, 5> kNames{{
    {CallbackStatus::completed, "completed"},
    {CallbackStatus::failed, "failed"},
    {CallbackStatus::timeout, "timeout"},
    {CallbackStatus::running, "running"},
    {CallbackStatus::partial, "partial"},
}};
}

std::string_view name(CallbackStatus status) {
    for (const auto& [each, text] : kNames)
        if (each == status) return text;
    return "";
}

std::optional<CallbackStatus> parse_callback_status(std::string_view text) {
    for (const auto& [each, known] : kNames)
        if (known == text) return each;
    return std::nullopt;
}

}
