#pragma once
// What an execution's input says of its needs: taken once, when it is enqueued, and kept in its row.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/demand.h"

namespace impresario::domain {

/// What a need counts. `cost` is in micro-dollars.
enum class NeedPart { calls, tokens, items, cost };
inline constexpr NeedPart kNeedParts[]{NeedPart::calls, NeedPart::tokens, NeedPart::items, NeedPart::cost};

/// calls, tokens, items, cost_usd: as people write them.
std::string_view name(NeedPart part);
std::optional<NeedPart> parse_need_part(std::string_view text);

std::int64_t& amount_in(Need& need, NeedPart part);

/// The most that an input may ask of one part; of the cost in USD.
inline constexpr std::int64_t kMostFromInput = 1'000'000'000;
/// The same in the part's own units.
std::int64_t most_from_input(NeedPart part);

/// `value` × `times`, both in millionths, in the part's own units and rounded up; nullopt: more than an input may ask.
std::optional<std::int64_t> scaled(NeedPart part, std::int64_t value, std::int64_t times);

struct NeedAmount {
    std::string provider;
    NeedPart part = NeedPart::calls;
    std::int64_t amount = 0;
    friend bool operator==(const NeedAmount&, const NeedAmount&) = default;
};

/// As the row keeps them, a line each, cost in micro-dollars: "12 calls gemini". Empty: none.
std::string need_amounts_text(const std::vector<NeedAmount>& amounts);
/// What cannot be read is left out.
std::vector<NeedAmount> parse_need_amounts(std::string_view text);

/// The needs of a type with what a row of it keeps; of a provider that the type does not name any more nothing.
std::vector<Need> with_amounts(std::vector<Need> needs, std::string_view text);

}
