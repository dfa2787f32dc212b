#include "subworkflows/input_needs.h"

#include "domain/money.h"
#include "platform/input_pointer.h"
#include "platform/json_text.h"

namespace impresario::subworkflows {

using domain::NeedAmount;
using domain::NeedPart;
using platform::JsonType;

std::string_view InputNeed::pointer() const { return platform::within_input(from); }

std::int64_t InputNeed::unsaid() const {
    return otherwise ? *otherwise : domain::scaled(part, 1'000'000, times).value_or(domain::most_from_input(part));
}

domain::Result<std::vector<NeedAmount>, InputFault> need_amounts(const std::vector<InputNeed>& needs,
                                                                 std::string_view input) {
    std::vector<NeedAmount> amounts;
    for (const auto& need : needs) {
        const std::string what = std::string(domain::name(need.part)) + " of " + need.provider;
        const auto refuse = [&](std::string why) { return InputFault{std::string(need.pointer()), std::move(why)}; };
        NeedAmount taken{need.provider, need.part, 0};
        const auto found = input.empty() ? std::nullopt : platform::json_at(input, need.pointer());
        const auto type = found ? platform::json_type(*found) : JsonType::null;
        std::optional<std::int64_t> value;
        bool outsize = false;
        if (type == JsonType::array) {
            value = static_cast<std::int64_t>(platform::json_elements(*found).size()) * 1'000'000;
        } else if (type == JsonType::number) {
            const auto parsed = domain::parse_money(*found);
            if (parsed) {
                value = parsed->amount.value;
            } else if (parsed.error() == domain::MoneyError::negative) {
                return refuse("must not be negative: the type takes " + what + " from it");
            } else {
                outsize = true;
            }
        } else if (need.otherwise) {
            taken.amount = *need.otherwise;
            amounts.push_back(std::move(taken));
            continue;
        } else {
            return refuse(std::string(found ? "is neither a number nor an array" : "is missing") + ": the type takes " +
                          what + " from it");
        }
        const auto amount = outsize ? std::nullopt : domain::scaled(need.part, *value, need.times);
        if (!amount)
            return refuse("asks more than " + std::to_string(domain::kMostFromInput) + " " + what +
                          ", the most that an input may");
        taken.amount = *amount;
        amounts.push_back(std::move(taken));
    }
    return amounts;
}

}
