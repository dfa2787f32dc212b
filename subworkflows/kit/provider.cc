#include "subworkflows/kit/provider.h"

#include <algorithm>
#include <charconv>

#include "platform/json_text.h"

namespace impresario::subworkflows::kit {

using domain::Callback;

namespace {

/// Of the input no more is asked about.
constexpr std::size_t kLongestPrompt = 8000;

std::int64_t whole(const std::optional<std::string_view>& value) {
    std::int64_t number = 0;
    if (value) std::from_chars(value->data(), value->data() + value->size(), number);
    return std::max<std::int64_t>(0, number);
}

domain::Usage used(const std::string& provider, std::string_view answer) {
    domain::Usage usage;
    usage.provider = provider;
    usage.api_calls = 1;
    const auto bill = platform::json_member(answer, "usage");
    if (!bill) return usage;
    usage.tokens = whole(platform::json_member(*bill, "tokens"));
    if (const auto cost = platform::json_member(*bill, "cost_usd"))
        if (const auto money = domain::parse_money(platform::json_string(*cost))) usage.cost = money->amount;
    if (const auto remaining = platform::json_member(*bill, "remaining")) usage.remaining = whole(remaining);
    if (const auto reset = platform::json_member(*bill, "reset_at"))
        usage.reset_at = domain::parse_time(platform::json_string(*reset));
    return usage;
}

Callback failure(std::string message, std::optional<domain::Usage> usage = std::nullopt) {
    Callback callback;
    callback.status = domain::CallbackStatus::failed;
    callback.error_message = std::move(message);
    if (usage) callback.usage = {*std::move(usage)};
    return callback;
}

/// Its bill, or the callback that ends the run.
domain::Result<domain::Usage, Callback> ask(Run& run, const ProviderSettings& provider) {
    const auto prompt = platform::utf8_prefix(run.trigger().input_data, kLongestPrompt);
    const auto outcome = run.fetch("POST", provider.url, {{"content-type", "application/json"}}, std::string(prompt));
    const auto* answer = std::get_if<platform::HttpAnswer>(&outcome);
    if (!answer) return failure(provider.name + " could not be asked");
    const bool overloaded = answer->status == 429 || (answer->status == 503 && !answer->header("retry-after").empty());
    if (overloaded) {
        domain::Usage refused;
        refused.provider = provider.name;
        refused.api_calls = 1;
        refused.retry_after = std::chrono::seconds{
            std::clamp<std::int64_t>(whole(std::optional(answer->header("retry-after"))), 1, 86400)};
        return failure(provider.name + " has had enough for now", std::move(refused));
    }
    if (answer->status != 200) return failure(provider.name + " answered status " + std::to_string(answer->status));
    return used(provider.name, answer->body);
}

}

std::optional<ProviderSettings> parse_provider_settings(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    auto url = platform::parse_url(text.substr(equals + 1));
    if (!url) return std::nullopt;
    return ProviderSettings{std::string(text.substr(0, equals)), *std::move(url)};
}

Work billed(ProviderSettings provider, Work work) {
    return [provider = std::move(provider), work = std::move(work)](Run& run) {
        auto bill = ask(run, provider);
        if (!bill) return bill.error();
        auto callback = work(run);
        // Where the work says what it cost, the provider's part comes on top.
        if (callback.cost && bill->cost) callback.cost = *callback.cost + *bill->cost;
        callback.usage.push_back(*std::move(bill));
        return callback;
    };
}

}
