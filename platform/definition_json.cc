#include "platform/definition_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "platform/json_text.h"

namespace impresario::platform {

using domain::Duration;
using nlohmann::json;

namespace {
/// The last of them would win in silence.
void check_twice(std::string_view text, const std::string& at, domain::DefinitionFaults& faults) {
    if (json_type(text) == JsonType::array) {
        const auto elements = json_elements(text);
        for (std::size_t i = 0; i < elements.size(); ++i)
            check_twice(elements[i], at + "/" + std::to_string(i), faults);
        return;
    }
    std::set<std::string> met;
    // Empty for anything else than an object.
    const auto members = json_members(text);
    for (const auto& member : members) {
        const auto pointer = at + "/" + pointer_token(member.key);
        if (met.insert(member.key).second) {
            check_twice(member.value, pointer, faults);
        } else {
            faults.push_back({pointer, "is there twice"});
        }
    }
}
}

json definition_tree(std::string_view text, domain::DefinitionFaults& faults) {
    if (const auto checked = check_json(text); !checked) {
        const auto& fault = checked.error();
        faults.push_back({fault.pointer, fault.what + " (at byte " + std::to_string(fault.offset) + ")"});
        return nullptr;
    }
    check_twice(text, "", faults);
    if (!faults.empty()) return nullptr;
    auto tree = json::parse(text, nullptr, false);
    if (!tree.is_object()) faults.push_back({"", "must be a JSON object"});
    return tree;
}

std::optional<int> whole_number(const json& value) {
    if (!value.is_number_integer()) return std::nullopt;
    // What is read as unsigned would turn negative on its way through a signed number.
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > 1'000'000'000) return std::nullopt;
    const auto number = value.get<std::int64_t>();
    if (number < -1'000'000'000 || number > 1'000'000'000) return std::nullopt;
    return static_cast<int>(number);
}

std::optional<domain::MicroUsd> money_at(std::string_view body, const std::string& pointer,
                                         domain::DefinitionFaults& faults) {
    const auto raw = json_at(body, pointer);
    if (!raw || json_type(*raw) == JsonType::null) return std::nullopt;
    const auto parsed = domain::parse_money(json_string(*raw));
    if (!parsed) {
        faults.push_back({pointer, std::string(domain::explain(parsed.error()))});
        return std::nullopt;
    }
    return parsed->amount;
}

const json* DefinitionReader::find(const char* name) {
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
}

void DefinitionReader::text(const char* name, std::string& into) {
    const json* value = find(name);
    if (!value) return;
    if (value->is_null()) {
        into.clear();
    } else if (value->is_string()) {
        into = value->get<std::string>();
    } else {
        wrong(name, "must be a string");
    }
}

void DefinitionReader::flag(const char* name, bool& into) {
    const json* value = find(name);
    if (!value) return;
    if (value->is_boolean()) {
        into = value->get<bool>();
    } else {
        wrong(name, "must be true or false");
    }
}

void DefinitionReader::whole(const char* name, int& into) {
    const json* value = find(name);
    if (!value) return;
    if (const auto number = whole_number(*value)) {
        into = *number;
    } else {
        wrong(name, "must be a whole number from -1000000000 to 1000000000");
    }
}

void DefinitionReader::large(const char* name, std::int64_t& into) {
    const json* value = find(name);
    if (!value) return;
    constexpr std::int64_t kMost = 1'000'000'000'000'000;
    const bool fits =
        value->is_number_integer() && (value->is_number_unsigned() ? value->get<std::uint64_t>() <= std::uint64_t{kMost}
                                                                   : value->get<std::int64_t>() >= -kMost);
    if (fits) {
        into = value->get<std::int64_t>();
    } else {
        wrong(name, "must be a whole number up to 1000000000000000");
    }
}

void DefinitionReader::real(const char* name, double& into) {
    const json* value = find(name);
    if (!value) return;
    if (value->is_number()) {
        into = value->get<double>();
    } else {
        wrong(name, "must be a number");
    }
}

void DefinitionReader::seconds(const char* name, Duration& into) {
    const json* value = find(name);
    if (!value) return;
    if (value->is_number() && std::fabs(value->get<double>()) < 1e9) {
        into = Duration{static_cast<std::int64_t>(std::llround(value->get<double>() * 1e6))};
    } else {
        wrong(name, "must be a number of seconds");
    }
}

void DefinitionReader::time(const char* name, std::optional<domain::TimePoint>& into) {
    std::string value;
    text(name, value);
    if (value.empty()) return;
    into = domain::parse_time(value);
    if (!into) wrong(name, "must be a time, as in 2026-11-29T09:00:00Z");
}

void DefinitionReader::nothing_else() {
    for (const auto& [key, value] : object_.items())
        if (!known_.contains(key))
            faults_.push_back({at_ + "/" + pointer_token(key), "is not a member of this object"});
}

}
