#include "platform/callback_json.h"

#include <charconv>
#include <cmath>

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::platform {

using domain::Callback;
using domain::CallbackStatus;

namespace {

/// Of one count: a thousand of them still add up in a bigint.
constexpr std::int64_t kMostCount = 9'000'000'000'000'000;

/// Reads fields one after the other and keeps the first fault.
class Reader {
  public:
    std::optional<CallbackFault> fault;

    void wrong(std::string pointer, std::string what) {
        if (!fault) fault = CallbackFault{422, std::move(pointer), std::move(what)};
    }

    std::optional<std::int64_t> count(const std::optional<std::string_view>& value, const std::string& pointer) {
        if (!value || json_type(*value) == JsonType::null) return std::nullopt;
        if (json_type(*value) != JsonType::number) {
            wrong(pointer, "must be a number");
            return std::nullopt;
        }
        std::int64_t whole = 0;
        const auto read = std::from_chars(value->data(), value->data() + value->size(), whole);
        if (read.ec != std::errc{} || read.ptr != value->data() + value->size()) {
            // JavaScript clocks give fractions of a millisecond: take the whole part.
            double real = 0;
            std::from_chars(value->data(), value->data() + value->size(), real);
            if (!std::isfinite(real) || std::fabs(real) > static_cast<double>(kMostCount)) {
                wrong(pointer, "is out of range");
                return std::nullopt;
            }
            whole = static_cast<std::int64_t>(real);
        }
        if (whole > kMostCount) {
            wrong(pointer, "is out of range");
            return std::nullopt;
        }
        if (whole < 0) {
            wrong(pointer, "must not be negative");
            return std::nullopt;
        }
        return whole;
    }

    std::optional<domain::Duration> seconds(const std::optional<std::string_view>& value, const std::string& pointer) {
        if (!value || json_type(*value) == JsonType::null) return std::nullopt;
        double real = -1;
        if (json_type(*value) == JsonType::number) std::from_chars(value->data(), value->data() + value->size(), real);
        if (!(real >= 0 && real <= 31536000)) {
            wrong(pointer, "must be a number of seconds from 0 to 31536000");
            return std::nullopt;
        }
        return domain::Duration{static_cast<std::int64_t>(real * 1e6)};
    }

    /// What teaches the limiter, and is not worth losing a result for: what is no number, or below nothing, is not
    /// said; what is beyond a day is a day.
    static std::optional<domain::Duration> patience(const std::optional<std::string_view>& value) {
        const auto real = number(value);
        if (!real || *real <= 0) return std::nullopt;
        return domain::Duration{static_cast<std::int64_t>(std::min(*real, 86400.0) * 1e6)};
    }
    /// Less than nothing is nothing.
    static std::optional<std::int64_t> left(const std::optional<std::string_view>& value) {
        const auto real = number(value);
        if (!real || *real > static_cast<double>(kMostCount)) return std::nullopt;
        return static_cast<std::int64_t>(std::max(*real, 0.0));
    }

    std::optional<domain::MicroUsd> money(const std::optional<std::string_view>& value, const std::string& pointer,
                                          bool* rounded) {
        if (!value || json_type(*value) == JsonType::null) return std::nullopt;
        const auto type = json_type(*value);
        if (type != JsonType::number && type != JsonType::string) {
            wrong(pointer, "must be a number or a decimal string");
            return std::nullopt;
        }
        const auto parsed = domain::parse_money(json_string(*value));
        if (!parsed) {
            wrong(pointer, std::string(domain::explain(parsed.error())));
            return std::nullopt;
        }
        *rounded = *rounded || parsed->rounded_up;
        return parsed->amount;
    }

  private:
    static std::optional<double> number(const std::optional<std::string_view>& value) {
        double real = 0;
        if (!value || json_type(*value) != JsonType::number ||
            std::from_chars(value->data(), value->data() + value->size(), real).ec == std::errc::invalid_argument)
            return std::nullopt;
        // 1e999 is out of range, and as a wait simply long.
        return std::isfinite(real) ? std::optional(real) : std::nullopt;
    }
};

std::string raw(const std::optional<std::string_view>& value) {
    return value && json_type(*value) != JsonType::null ? std::string(*value) : std::string{};
}

std::string short_string(const std::optional<std::string_view>& value, std::size_t most) {
    if (!value || json_type(*value) == JsonType::null) return {};
    const std::string text = json_string(*value);
    return std::string(utf8_prefix(text, most));
}

}

domain::Result<Callback, CallbackFault> parse_callback(std::string_view body) {
    auto storable = storable_json(body);
    if (!storable) {
        const auto& fault = storable.error();
        return CallbackFault{400, fault.pointer, fault.what + " (at byte " + std::to_string(fault.offset) + ")"};
    }
    const std::string& text = storable->text;
    if (json_type(text) != JsonType::object) return CallbackFault{422, "", "must be a JSON object"};

    const JsonObject object(text);
    Callback callback;
    callback.sanitised = storable->sanitised;
    Reader reader;
    const auto status = object.find("status");
    const auto known = status ? domain::parse_callback_status(json_string(*status)) : std::nullopt;
    if (!known) return CallbackFault{422, "/status", "must be one of completed, failed, timeout, running, partial"};
    callback.status = *known;

    if (const auto id = object.find("execution_id"); id && json_type(*id) != JsonType::null) {
        callback.execution_id = domain::ExecutionId::parse(json_string(*id));
        if (!callback.execution_id) reader.wrong("/execution_id", "must be a UUID");
    }
    callback.result_data = raw(object.find("result_data"));
    callback.error_data = raw(object.find("error_data"));
    if (!callback.error_data.empty()) {
        if (json_type(callback.error_data) == JsonType::object) {
            const JsonObject error(callback.error_data);
            callback.error_message = short_string(error.find("message"), 2000);
            if (const auto again = error.find("retry_recommended")) callback.retry_recommended = *again != "false";
            callback.retry_after = reader.seconds(error.find("retry_after_seconds"), "/error_data/retry_after_seconds");
        } else {
            callback.error_message = short_string(std::string_view(callback.error_data), 2000);
        }
    }
    if (const auto given = object.find("metrics"); given && json_type(*given) != JsonType::null) {
        if (json_type(*given) != JsonType::object) reader.wrong("/metrics", "must be an object");
        const JsonObject metrics(*given);
        callback.duration_ms = reader.count(metrics.find("duration_ms"), "/metrics/duration_ms");
        callback.items_processed = reader.count(metrics.find("items_processed"), "/metrics/items_processed");
        callback.api_calls = reader.count(metrics.find("api_calls_made"), "/metrics/api_calls_made");
        callback.database_queries = reader.count(metrics.find("database_queries"), "/metrics/database_queries");
        callback.memory_mb = reader.count(metrics.find("memory_mb"), "/metrics/memory_mb");
        callback.cost = reader.money(metrics.find("cost_usd"), "/metrics/cost_usd", &callback.cost_rounded);
    }
    // A heartbeat may say its cost so far at the top.
    if (!callback.cost) callback.cost = reader.money(object.find("cost_usd"), "/cost_usd", &callback.cost_rounded);
    if (const auto usage = object.find("usage"); usage && json_type(*usage) != JsonType::null) {
        if (json_type(*usage) != JsonType::array) reader.wrong("/usage", "must be an array");
        std::size_t index = 0;
        for (const auto element : json_elements(*usage)) {
            const std::string at = "/usage/" + std::to_string(index++);
            if (json_type(element) != JsonType::object) {
                reader.wrong(at, "must be an object");
                continue;
            }
            const JsonObject entry(element);
            domain::Usage used;
            used.provider = short_string(entry.find("provider"), 200);
            if (used.provider.empty()) reader.wrong(at + "/provider", "is missing");
            used.api_calls = reader.count(entry.find("api_calls"), at + "/api_calls").value_or(0);
            used.tokens = reader.count(entry.find("tokens"), at + "/tokens").value_or(0);
            used.cost = reader.money(entry.find("cost_usd"), at + "/cost_usd", &callback.cost_rounded);
            used.remaining = Reader::left(entry.find("remaining"));
            if (const auto reset = entry.find("reset_at")) used.reset_at = domain::parse_time(json_string(*reset));
            used.retry_after = Reader::patience(entry.find("retry_after_seconds"));
            callback.usage.push_back(std::move(used));
        }
        if (callback.usage.size() > 1000) reader.wrong("/usage", "has more than 1000 entries");
        domain::MicroUsd sum;
        for (const auto& each : callback.usage) sum = sum + each.cost.value_or(domain::MicroUsd{});
        if (sum > domain::kMostMoney)
            reader.wrong("/usage", "costs together more than " + domain::decimal(domain::kMostMoney) + " USD");
    }
    callback.progress = raw(object.find("progress"));
    callback.peer_reference = short_string(object.find("peer_reference"), 200);

    const auto items = object.find("items");
    if (callback.status == CallbackStatus::partial) {
        if (!items || json_type(*items) != JsonType::array)
            return CallbackFault{422, "/items", "a partial result must list its items"};
        std::size_t index = 0;
        bool any_failed = false;
        for (const auto element : json_elements(*items)) {
            const std::string at = "/items/" + std::to_string(index++);
            if (json_type(element) != JsonType::object) {
                reader.wrong(at, "must be an object with key and status");
                continue;
            }
            const JsonObject entry(element);
            domain::ItemOutcome item;
            const auto key = entry.find("key");
            if (!key || json_type(*key) == JsonType::null) reader.wrong(at + "/key", "is missing");
            if (key) item.key = json_string(*key);
            const std::string item_status = short_string(entry.find("status"), 40);
            if (item_status != "completed" && item_status != "failed")
                reader.wrong(at + "/status", "must be completed or failed");
            item.failed = item_status == "failed";
            any_failed = any_failed || item.failed;
            item.json = std::string(element);
            callback.items.push_back(std::move(item));
        }
        if (callback.items.empty()) reader.wrong("/items", "a partial result must list its items");
        // Nothing failed: it is simply complete.
        if (!reader.fault && !any_failed) callback.status = CallbackStatus::completed;
    }
    if (reader.fault) return *reader.fault;
    return callback;
}

bool looks_like_callback(std::string_view body) {
    if (body.empty() || json_type(body) != JsonType::object) return false;
    if (auto storable = storable_json(body); !storable) return false;
    const JsonObject object(body);
    const auto status = object.find("status");
    if (!status || json_type(*status) != JsonType::string) return false;
    const auto known = domain::parse_callback_status(json_string(*status));
    if (!known || *known == CallbackStatus::running) return false;
    // {"status":"completed"} alone may be about the request; a result has something to say.
    for (const auto key : {"result_data", "error_data", "metrics", "items"})
        if (object.find(key)) return true;
    return false;
}

namespace {
void write_usage(JsonWriter& json, const domain::Usage& used) {
    json.open();
    json.field("provider", used.provider).field("api_calls", used.api_calls).field("tokens", used.tokens);
    if (used.cost) json.field("cost_usd", domain::decimal(*used.cost));
    if (used.remaining) json.field("remaining", *used.remaining);
    if (used.reset_at) json.field("reset_at", domain::rfc3339(*used.reset_at));
    if (used.retry_after) json.field("retry_after_seconds", domain::in_seconds(*used.retry_after));
    json.close();
}
}

std::string callback_json(const Callback& callback) {
    JsonWriter json;
    json.open();
    if (callback.execution_id) json.field("execution_id", callback.execution_id->text());
    // Items are read of a partial result only; one of which none has failed is read as completed.
    const bool listed = callback.status == CallbackStatus::completed && !callback.items.empty();
    json.field("status", name(listed ? CallbackStatus::partial : callback.status));
    if (!callback.result_data.empty()) json.raw("result_data", callback.result_data);
    if (!callback.error_data.empty()) {
        json.raw("error_data", callback.error_data);
    } else if (!callback.error_message.empty()) {
        json.open("error_data", '{')
            .field("message", callback.error_message)
            .field("retry_recommended", callback.retry_recommended)
            .close();
    }
    if (!callback.usage.empty()) {
        json.open("usage", '[');
        for (const auto& used : callback.usage) write_usage(json, used);
        json.close(']');
    }
    if (!callback.progress.empty()) json.raw("progress", callback.progress);
    if (!callback.items.empty()) {
        json.open("items", '[');
        for (const auto& item : callback.items) json.element(item.json);
        json.close(']');
    }
    if (callback.duration_ms || callback.items_processed || callback.cost || callback.api_calls ||
        callback.database_queries || callback.memory_mb) {
        json.open("metrics", '{');
        if (callback.duration_ms) json.field("duration_ms", *callback.duration_ms);
        if (callback.items_processed) json.field("items_processed", *callback.items_processed);
        if (callback.cost) json.field("cost_usd", domain::decimal(*callback.cost));
        if (callback.api_calls) json.field("api_calls_made", *callback.api_calls);
        if (callback.database_queries) json.field("database_queries", *callback.database_queries);
        if (callback.memory_mb) json.field("memory_mb", *callback.memory_mb);
        json.close();
    }
    if (!callback.peer_reference.empty()) json.field("peer_reference", callback.peer_reference);
    json.close();
    return std::move(json).text();
}

}
