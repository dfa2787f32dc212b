#include "domain/callback.h"

#include "domain/name_table.h"

namespace impresario::domain {

namespace {
constexpr NameTable<CallbackStatus, 5> kNames{{
    {CallbackStatus::completed, "completed"},
    {CallbackStatus::failed, "failed"},
    {CallbackStatus::timeout, "timeout"},
    {CallbackStatus::running, "running"},
    {CallbackStatus::partial, "partial"},
}};
}

std::string_view name(CallbackStatus status) { return name_in(kNames, status); }

std::optional<CallbackStatus> parse_callback_status(std::string_view text) { return value_in(kNames, text); }

}
