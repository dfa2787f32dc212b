#include "domain/importance.h"

#include "domain/name_table.h"

namespace impresario::domain {

namespace {
constexpr NameTable<Importance, 4> kNames{{
    {Importance::critical, "critical"},
    {Importance::high, "high"},
    {Importance::normal, "normal"},
    {Importance::low, "low"},
}};
}

std::string_view name(Importance importance) { return name_in(kNames, importance); }

std::optional<Importance> parse_importance(std::string_view text) { return value_in(kNames, text); }

}
