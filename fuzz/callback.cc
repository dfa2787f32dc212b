#include "platform/callback_json.h"

#include "fuzz/targets.h"
#include "platform/json_text.h"

namespace impresario::fuzz {

namespace {
void storable(const std::string& json) {
    require(json.empty() || platform::check_json(json), "what is kept of a callback can be stored", json);
}
void amount(const std::optional<domain::MicroUsd>& money) {
    require(!money || (money->value >= 0 && *money <= domain::kMostMoney), "an amount fits its column");
}
}

void callback(std::string_view bytes) {
    const auto read = platform::parse_callback(bytes);
    if (!read) {
        require(!read.error().what.empty(), "a fault says what is wrong");
        require(read.error().status == 400 || read.error().status == 422, "a fault is the sender's");
    }
    const bool done = platform::looks_like_callback(bytes);
    if (!read) return;
    require(!done || read->status != domain::CallbackStatus::running, "a heartbeat is no result");
    storable(read->result_data);
    storable(read->error_data);
    storable(read->progress);
    for (const auto& item : read->items) storable(item.json);
    for (const auto& text : {read->error_message, read->peer_reference})
        require(platform::storable_text(text) == text, "a text can be stored", text);
    amount(read->cost);
    domain::MicroUsd sum;
    for (const auto& used : read->usage) {
        amount(used.cost);
        if (used.cost) sum = sum + *used.cost;
        require(used.api_calls >= 0 && used.tokens >= 0, "counts are not negative");
        if (used.reset_at)
            require(domain::parse_time(domain::rfc3339(*used.reset_at)) == used.reset_at, "a time can be stored");
    }
    amount(sum);
    const auto again = platform::parse_callback(platform::callback_json(*read));
    require(again && again->cost == read->cost && again->items.size() == read->items.size(),
            "a callback goes there and back", platform::callback_json(*read));
}

}
