#include "domain/need_amounts.h"

#include <charconv>

#include "domain/name_table.h"

namespace impresario::domain {

namespace {

constexpr NameTable<NeedPart, 4> kNames{{{NeedPart::calls, "calls"},
                                         {NeedPart::tokens, "tokens"},
                                         {NeedPart::items, "items"},
                                         {NeedPart::cost, "cost_usd"}}};
constexpr std::int64_t kMillion = 1'000'000;

// 128 bits: the largest value, the largest number of times.
__extension__ using Wide = __int128;

}

std::string_view name(NeedPart part) { return name_in(kNames, part); }
std::optional<NeedPart> parse_need_part(std::string_view text) { return value_in(kNames, text); }

std::int64_t& amount_in(Need& need, NeedPart part) {
    switch (part) {
        case NeedPart::calls:
            break;
        case NeedPart::tokens:
            return need.tokens;
        case NeedPart::items:
            return need.items;
        case NeedPart::cost:
            return need.cost.value;
    }
    return need.calls;
}

std::int64_t most_from_input(NeedPart part) {
    return part == NeedPart::cost ? kMostFromInput * kMillion : kMostFromInput;
}

std::optional<std::int64_t> scaled(NeedPart part, std::int64_t value, std::int64_t times) {
    const Wide unit = part == NeedPart::cost ? kMillion : kMillion * kMillion;
    const Wide amount = (static_cast<Wide>(value) * times + unit - 1) / unit;
    if (amount < 0 || amount > most_from_input(part)) return std::nullopt;
    return static_cast<std::int64_t>(amount);
}

std::string need_amounts_text(const std::vector<NeedAmount>& amounts) {
    std::string text;
    for (const auto& each : amounts) {
        if (!text.empty()) text += '\n';
        text += std::to_string(each.amount) + ' ' + std::string(name(each.part)) + ' ' + each.provider;
    }
    return text;
}

std::vector<NeedAmount> parse_need_amounts(std::string_view text) {
    std::vector<NeedAmount> amounts;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        const auto first = line.find(' ');
        const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
        if (second == std::string_view::npos) continue;
        NeedAmount each;
        const auto read = std::from_chars(line.data(), line.data() + first, each.amount);
        const auto part = parse_need_part(line.substr(first + 1, second - first - 1));
        if (read.ec != std::errc{} || read.ptr != line.data() + first || each.amount < 0 || !part) continue;
        each.part = *part;
        each.provider = line.substr(second + 1);
        amounts.push_back(std::move(each));
    }
    return amounts;
}

std::vector<Need> with_amounts(std::vector<Need> needs, std::string_view text) {
    const auto amounts = parse_need_amounts(text);
    for (const auto& each : amounts)
        for (auto& need : needs)
            if (need.provider == each.provider) amount_in(need, each.part) = each.amount;
    return needs;
}

}
