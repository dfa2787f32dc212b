#include "subworkflows/intelligence_engine/request_json.h"

#include <charconv>
#include <map>
#include <set>

#include "platform/json_text.h"

namespace impresario::subworkflows::intelligence_engine {

using platform::json_string;
using platform::json_type;
using platform::JsonType;

namespace {

constexpr std::size_t kMostMistakes = 10;

class Reader {
  public:
    domain::Result<Request, std::vector<JsonMistake>> read(std::string_view input) {
        if (json_type(input) != JsonType::object) {
            wrong("", "must be an object");
            return mistakes_;
        }
        for (const auto& [key, value] : platform::json_members(input)) {
            const std::string at = "/" + platform::pointer_token(key);
            const bool absent = json_type(value) == JsonType::null;
            if (key == "hours") {
                if (!absent) whole(at, value, 720, request_.hours);
            } else if (key == "baseline_hours") {
                if (!absent) whole(at, value, 2160, request_.baseline_hours);
            } else if (key == "workflow_types") {
                if (!absent) types(at, value);
            } else if (key == "sensitivity") {
                if (!absent) sensitivity(at, value);
            } else if (key == "daily_budget_usd") {
                if (!absent) budget(at, value);
            } else if (key == "now") {
                if (absent) continue;
                request_.now = time_value(value);
                if (!request_.now) wrong(at, "must be an RFC 3339 time such as 2026-11-27T22:00:00Z");
            } else if (key == "executions") {
                if (!absent) executions(at, value);
            } else {
                wrong(at, "is not known");
            }
        }
        if (!mistakes_.empty()) return mistakes_;
        return std::move(request_);
    }

  private:
    void wrong(std::string pointer, std::string what) {
        if (mistakes_.size() < kMostMistakes) mistakes_.push_back({std::move(pointer), std::move(what)});
    }

    void whole(const std::string& at, std::string_view value, int most, int& into) {
        if (const auto read = whole_number(value, 1, most)) {
            into = static_cast<int>(*read);
        } else {
            wrong(at, "must be a whole number from 1 to " + std::to_string(most));
        }
    }

    void types(const std::string& at, std::string_view value) {
        if (json_type(value) != JsonType::array) return wrong(at, "must be an array of names");
        std::set<std::string> seen;
        std::size_t index = 0;
        for (const auto element : platform::json_elements(value)) {
            const std::string here = at + "/" + std::to_string(index++);
            const std::string type = json_type(element) == JsonType::string ? json_string(element) : std::string{};
            if (type.empty()) {
                wrong(here, "must be the name of a workflow type");
            } else if (seen.insert(type).second) {
                request_.workflow_types.push_back(type);
            }
        }
        if (index > 1000) wrong(at, "has more than 1000 names");
    }

    void sensitivity(const std::string& at, std::string_view value) {
        double read = 0;
        if (json_type(value) == JsonType::number) std::from_chars(value.data(), value.data() + value.size(), read);
        if (!(read >= 2 && read <= 10)) return wrong(at, "must be a number from 2 to 10");
        request_.sensitivity = read;
    }

    void budget(const std::string& at, std::string_view value) {
        if (json_type(value) != JsonType::number && json_type(value) != JsonType::string)
            return wrong(at, "must be a number or a decimal string");
        const auto parsed = domain::parse_money(json_string(value));
        if (!parsed) return wrong(at, std::string(domain::explain(parsed.error())));
        if (parsed->amount.value == 0) return wrong(at, "must be more than 0");
        request_.daily_budget = parsed->amount;
    }

    void executions(const std::string& at, std::string_view value) {
        if (json_type(value) != JsonType::array) return wrong(at, "must be an array of executions");
        std::vector<TypeHistory> histories;
        std::map<std::string, std::size_t> by_type;
        std::set<domain::ExecutionId> seen;
        std::size_t index = 0;
        for (const auto element : platform::json_elements(value)) {
            const std::string here = at + "/" + std::to_string(index++);
            auto read = parse_execution(element, here);
            if (!read) {
                wrong(read.error().pointer, read.error().what);
                if (mistakes_.size() >= kMostMistakes) return;
                continue;
            }
            if (!seen.insert(read->execution.id).second) {
                wrong(here + "/execution_id", "is there twice");
                continue;
            }
            const auto [found, fresh] = by_type.emplace(read->workflow_type, histories.size());
            if (fresh) histories.push_back({.workflow_type = read->workflow_type});
            histories[found->second].executions.push_back(std::move(read->execution));
        }
        request_.inline_history = std::move(histories);
    }

    Request request_;
    std::vector<JsonMistake> mistakes_;
};

}

domain::Result<Request, std::vector<JsonMistake>> parse_request(std::string_view input) {
    if (input.empty() || json_type(input) == JsonType::null) return Request{};
    return Reader().read(input);
}

}
