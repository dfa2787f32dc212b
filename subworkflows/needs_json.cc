#include "subworkflows/needs_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "domain/money.h"
#include "platform/definition_json.h"
#include "platform/input_pointer.h"
#include "platform/json_text.h"

namespace impresario::subworkflows {

using domain::MicroUsd;
using domain::Need;
using domain::NeedPart;
using nlohmann::json;
using platform::DefinitionReader;

namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::string most() { return std::to_string(domain::kMostFromInput); }

/// A whole number as one, else the decimal as a string.
json decimal_json(std::int64_t millionths) {
    if (millionths % kMillion == 0) return millionths / kMillion;
    const auto text = domain::decimal({millionths});
    return text.substr(0, text.find_last_not_of('0') + 1);
}

/// Of a number or a decimal string, in millionths. `what`: what it must be.
std::optional<std::int64_t> millionths(std::string_view body, const std::string& pointer, const std::string& what,
                                       domain::DefinitionFaults& faults) {
    const auto raw = platform::json_at(body, pointer);
    const auto type = raw ? platform::json_type(*raw) : platform::JsonType::null;
    const bool number = type == platform::JsonType::number || type == platform::JsonType::string;
    if (number)
        if (const auto parsed = domain::parse_money(platform::json_string(*raw));
            parsed && !parsed->rounded_up && parsed->amount.value <= domain::kMostFromInput * kMillion)
            return parsed->amount.value;
    faults.push_back({pointer, what});
    return std::nullopt;
}

InputNeed read_input_need(const json& value, std::string_view body, const std::string& at, NeedPart part,
                          domain::DefinitionFaults& faults) {
    DefinitionReader members(value, at, faults);
    InputNeed need;
    need.part = part;
    members.text("from", need.from);
    if (const auto fault = platform::pointer_fault(need.from)) members.wrong("from", *fault);
    if (members.has("times")) {
        const std::string rule = "must be a number of more than 0, at most " + most() + " and not finer than 0.000001";
        const auto times = millionths(body, at + "/times", rule, faults);
        if (times && *times == 0) members.wrong("times", rule);
        need.times = times.value_or(kMillion);
    }
    if (members.has("otherwise")) {
        const bool money = part == NeedPart::cost;
        const std::string rule =
            (money ? "must be an amount from 0 to " : "must be a whole number from 0 to ") + most();
        if (const auto otherwise = millionths(body, at + "/otherwise", rule, faults)) {
            if (!money && *otherwise % kMillion != 0) members.wrong("otherwise", rule);
            need.otherwise = money ? *otherwise : *otherwise / kMillion;
        }
    }
    if (!need.otherwise && !domain::scaled(part, kMillion, need.times))
        members.wrong("times", "makes one element ask more than " + most());
    members.nothing_else();
    return need;
}

json input_need_json(const InputNeed& need) {
    json value{{"from", need.from}, {"times", decimal_json(need.times)}};
    if (need.otherwise)
        value["otherwise"] = decimal_json(need.part == NeedPart::cost ? *need.otherwise : *need.otherwise * kMillion);
    return value;
}

/// In millionths.
std::int64_t stored_number(const json& value, const char* member) {
    const auto found = value.find(member);
    if (found == value.end()) return 0;
    const auto parsed = domain::parse_money(found->is_string() ? found->get<std::string>() : found->dump());
    return parsed ? parsed->amount.value : 0;
}

InputNeed stored_input_need(const json& value, const std::string& provider, NeedPart part) {
    InputNeed need;
    need.provider = provider;
    need.part = part;
    need.from = value.value("from", "");
    need.times = stored_number(value, "times");
    if (value.contains("otherwise")) {
        const auto otherwise = stored_number(value, "otherwise");
        need.otherwise = part == NeedPart::cost ? otherwise : otherwise / kMillion;
    }
    return need;
}

json need_json(const Need& need) {
    json one{{"provider", need.provider}, {"calls", need.calls}, {"tokens", need.tokens}};
    if (need.items > 0) one["items"] = need.items;
    if (need.cost.value > 0) one["cost_usd"] = domain::decimal(need.cost);
    return one;
}

}

TypeNeeds read_call_estimates(const json& value, std::string_view body, domain::DefinitionFaults& faults) {
    TypeNeeds read;
    if (!value.is_array()) {
        faults.push_back({"/call_estimates", "must be an array"});
        return read;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string at = "/call_estimates/" + std::to_string(i);
        if (!value[i].is_object()) {
            faults.push_back({at, "must be an object"});
            continue;
        }
        DefinitionReader each(value[i], at, faults);
        Need need;
        each.text("provider", need.provider);
        if (need.provider.empty()) {
            each.wrong("provider", "is missing");
        } else if (!domain::good_definition_name(need.provider)) {
            // None can be called so: its limits would never be asked.
            each.wrong("provider", domain::kDefinitionNameRule);
        }
        for (const auto& before : read.needs)
            if (before.provider == need.provider) each.wrong("provider", "is named twice");
        for (const auto part : domain::kNeedParts) {
            const char* member = domain::name(part).data();
            const json* amount = each.find(member);
            if (!amount) continue;
            if (amount->is_object()) {
                auto from_input = read_input_need(*amount, body, each.at(member), part, faults);
                from_input.provider = need.provider;
                domain::amount_in(need, part) = from_input.unsaid();
                read.from_input.push_back(std::move(from_input));
            } else if (part == NeedPart::cost) {
                need.cost = platform::money_at(body, each.at(member), faults).value_or(MicroUsd{});
            } else {
                int number = 0;
                each.whole(member, number);
                if (number < 0) each.wrong(member, "must not be negative");
                domain::amount_in(need, part) = number;
            }
        }
        each.nothing_else();
        read.needs.push_back(std::move(need));
    }
    return read;
}

json shown_call_estimates(const TypeNeeds& type) {
    json value = json::array();
    for (const auto& need : type.needs) {
        json one = need_json(need);
        for (const auto& each : type.from_input)
            if (each.provider == need.provider) one[std::string(domain::name(each.part))] = input_need_json(each);
        value.push_back(std::move(one));
    }
    return value;
}

std::string call_estimates_json(const TypeNeeds& type) {
    json value = json::array();
    for (const auto& need : type.needs) {
        json one = need_json(need);
        for (const auto& each : type.from_input)
            if (each.provider == need.provider)
                one["from_input"][std::string(domain::name(each.part))] = input_need_json(each);
        value.push_back(std::move(one));
    }
    return value.dump();
}

TypeNeeds stored_call_estimates(std::string_view text) {
    TypeNeeds stored;
    const json value = json::parse(text, nullptr, false);
    if (!value.is_array()) return stored;
    for (const auto& each : value) {
        Need one;
        one.provider = each.value("provider", "");
        one.calls = each.value("calls", std::int64_t{0});
        one.tokens = each.value("tokens", std::int64_t{0});
        one.items = each.value("items", std::int64_t{0});
        if (each.contains("cost_usd"))
            if (const auto parsed = domain::parse_money(each["cost_usd"].get<std::string>())) one.cost = parsed->amount;
        if (const auto from_input = each.find("from_input"); from_input != each.end())
            for (const auto part : domain::kNeedParts)
                if (const auto said = from_input->find(domain::name(part)); said != from_input->end())
                    stored.from_input.push_back(stored_input_need(*said, one.provider, part));
        stored.needs.push_back(std::move(one));
    }
    return stored;
}

}
