#include "subworkflows/intelligence_engine/history_json.h"

#include <charconv>

#include "platform/json_text.h"

namespace impresario::subworkflows::intelligence_engine {

using platform::json_string;
using platform::json_type;
using platform::JsonType;

namespace {

constexpr std::int64_t kMost = 1'000'000'000'000;

class Fields {
  public:
    Fields(const std::string& pointer, std::optional<JsonMistake>& mistake) : pointer_(pointer), mistake_(mistake) {}

    void wrong(std::string_view key, std::string what) {
        if (!mistake_) mistake_ = JsonMistake{pointer_ + "/" + std::string(key), std::move(what)};
    }
    void text(std::string_view key, std::string_view value, std::string& into) {
        if (json_type(value) != JsonType::string) return wrong(key, "must be a string");
        into = json_string(value);
    }
    void time(std::string_view key, std::string_view value, std::optional<domain::TimePoint>& into) {
        if (json_type(value) == JsonType::null) return;
        into = time_value(value);
        if (!into) wrong(key, "must be an RFC 3339 time such as 2026-11-27T22:00:00Z");
    }
    void whole(std::string_view key, std::string_view value, std::optional<std::int64_t>& into) {
        if (json_type(value) == JsonType::null) return;
        into = whole_number(value, 0, kMost);
        if (!into) wrong(key, "must be a whole number from 0 to " + std::to_string(kMost));
    }
    void money(std::string_view key, std::string_view value, std::optional<domain::MicroUsd>& into) {
        if (json_type(value) == JsonType::null) return;
        if (json_type(value) != JsonType::number && json_type(value) != JsonType::string)
            return wrong(key, "must be a number or a decimal string");
        const auto parsed = domain::parse_money(json_string(value));
        if (!parsed) return wrong(key, std::string(domain::explain(parsed.error())));
        into = parsed->amount;
    }

  private:
    const std::string& pointer_;
    std::optional<JsonMistake>& mistake_;
};

std::optional<JsonMistake> not_json(std::string_view body) {
    if (const auto checked = platform::check_json(body); !checked)
        return JsonMistake{checked.error().pointer, checked.error().what};
    return std::nullopt;
}

}

std::optional<std::int64_t> whole_number(std::string_view value, std::int64_t least, std::int64_t most) {
    std::int64_t whole = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), whole);
    if (read.ec != std::errc{} || read.ptr != value.data() + value.size() || whole < least || whole > most)
        return std::nullopt;
    return whole;
}

std::optional<domain::TimePoint> time_value(std::string_view value) {
    if (json_type(value) != JsonType::string) return std::nullopt;
    const auto at = domain::parse_time(json_string(value));
    if (!at || *at < domain::TimePoint{} || *at == domain::TimePoint::max()) return std::nullopt;
    return at;
}

domain::Result<TypedExecution, JsonMistake> parse_execution(std::string_view object, const std::string& pointer) {
    if (json_type(object) != JsonType::object) return JsonMistake{pointer, "must be an object"};
    TypedExecution read;
    Execution& execution = read.execution;
    std::optional<JsonMistake> mistake;
    std::optional<domain::TimePoint> created_at;
    std::optional<std::int64_t> retries;
    std::string id;
    std::string status;
    Fields fields(pointer, mistake);
    for (const auto& [key, value] : platform::json_members(object)) {
        if (key == "execution_id") {
            fields.text(key, value, id);
        } else if (key == "workflow_type") {
            fields.text(key, value, read.workflow_type);
        } else if (key == "status") {
            fields.text(key, value, status);
        } else if (key == "reason") {
            if (json_type(value) == JsonType::string) execution.reason = json_string(value);
        } else if (key == "created_at") {
            fields.time(key, value, created_at);
        } else if (key == "started_at") {
            fields.time(key, value, execution.started_at);
        } else if (key == "completed_at") {
            fields.time(key, value, execution.completed_at);
        } else if (key == "retry_count") {
            fields.whole(key, value, retries);
        } else if (key == "metrics" && json_type(value) != JsonType::null) {
            if (json_type(value) != JsonType::object) fields.wrong(key, "must be an object");
            const std::string at = pointer + "/metrics";
            Fields metrics(at, mistake);
            for (const auto& [name, metric] : platform::json_members(value)) {
                if (name == "duration_ms") metrics.whole(name, metric, execution.duration_ms);
                if (name == "items_processed") metrics.whole(name, metric, execution.items);
                if (name == "cost_usd") metrics.money(name, metric, execution.cost);
            }
        }
    }
    if (mistake) return *mistake;
    const auto parsed_id = domain::ExecutionId::parse(id);
    if (!parsed_id) fields.wrong("execution_id", "must be a UUID");
    if (read.workflow_type.empty()) fields.wrong("workflow_type", "is missing");
    const auto parsed_status = domain::parse_status(status);
    if (!parsed_status) fields.wrong("status", "must be a status of an execution");
    if (!created_at) fields.wrong("created_at", "is missing");
    if (mistake) return *mistake;
    execution.id = *parsed_id;
    execution.status = *parsed_status;
    execution.created_at = *created_at;
    execution.retry_count = static_cast<int>(std::min<std::int64_t>(retries.value_or(0), 1'000'000));
    return read;
}

domain::Result<Page, JsonMistake> parse_page(std::string_view body) {
    if (auto mistake = not_json(body)) return *std::move(mistake);
    const auto list = platform::json_member(body, "executions");
    if (!list || json_type(*list) != JsonType::array) return JsonMistake{"/executions", "must be an array"};
    Page page;
    std::size_t index = 0;
    for (const auto element : platform::json_elements(*list)) {
        auto execution = parse_execution(element, "/executions/" + std::to_string(index++));
        if (!execution) return execution.error();
        page.executions.push_back(*std::move(execution));
    }
    if (const auto cursor = platform::json_member(body, "next_cursor");
        cursor && json_type(*cursor) != JsonType::null) {
        if (json_type(*cursor) != JsonType::string) return JsonMistake{"/next_cursor", "must be a string or null"};
        page.next_cursor = json_string(*cursor);
    }
    return page;
}

domain::Result<std::vector<std::string>, JsonMistake> parse_type_names(std::string_view body) {
    if (auto mistake = not_json(body)) return *std::move(mistake);
    const auto list = platform::json_member(body, "workflow_types");
    if (!list || json_type(*list) != JsonType::array) return JsonMistake{"/workflow_types", "must be an array"};
    std::vector<std::string> names;
    for (const auto element : platform::json_elements(*list)) {
        const auto name = platform::json_member(element, "name");
        if (!name || json_type(*name) != JsonType::string)
            return JsonMistake{"/workflow_types/" + std::to_string(names.size()) + "/name", "must be a string"};
        names.push_back(json_string(*name));
    }
    return names;
}

}
