#include "orchestrator/provider_news.h"

#include <algorithm>
#include <charconv>

#include "platform/json_text.h"

namespace impresario::orchestrator {

using domain::Duration;
using domain::TimePoint;
using resource_manager::Measure;
using resource_manager::ProviderNews;
using resource_manager::ProviderWeather;

namespace {

/// What a start of this type is charged with.
std::int64_t requests_of(const subworkflows::WorkflowType* type, const std::string& provider) {
    if (!type) return 0;
    for (const auto& need : type->needs)
        if (need.provider == provider) return ProviderWeather::requests(need);
    return 0;
}

std::optional<std::int64_t> whole(std::string_view payload, std::string_view name) {
    const auto raw = platform::json_member(payload, name);
    std::int64_t value = 0;
    if (!raw || std::from_chars(raw->data(), raw->data() + raw->size(), value).ec != std::errc{}) return std::nullopt;
    return value;
}

}

std::vector<ProviderNews> provider_news_of(const DeliveryReported& report, const subworkflows::WorkflowType* type) {
    const auto* overload = std::get_if<webhooks::Overload>(&report.outcome);
    if (!overload) return {};
    ProviderNews news;
    std::optional<std::string_view> named;
    const auto storable = platform::storable_json(report.record.answer);
    if (storable) named = platform::json_member(storable->text, "provider");
    if (named) {
        if (platform::json_type(*named) != platform::JsonType::string) return {};
        news.provider = platform::json_string(*named);
    } else {
        if (!type || type->needs.size() != 1) return {};
        news.provider = type->needs.front().provider;
    }
    news.retry_after = overload->retry_after;
    news.requests = requests_of(type, news.provider);
    news.began = report.record.at;
    news.detail = "an endpoint of " + (type ? type->lane.workflow_type : std::string("a type")) + " answered " +
                  std::string(webhooks::reason(report.outcome));
    return {news};
}

std::vector<ProviderNews> provider_news_of(const domain::Callback& callback, const domain::ExecutionId& execution,
                                           TimePoint began, TimePoint now, const subworkflows::WorkflowType* type) {
    std::vector<ProviderNews> all;
    for (const auto& used : callback.usage) {
        const bool refused = used.retry_after && *used.retry_after > Duration{0};
        // What has been reset already teaches nothing.
        const bool left = used.remaining && (!used.reset_at || *used.reset_at > now);
        if (!refused && !left) continue;
        ProviderNews news;
        news.provider = used.provider;
        if (refused) {
            news.retry_after = used.retry_after;
            news.requests = requests_of(type, used.provider);
            news.was_taken = true;
        }
        if (left) {
            news.remaining = used.remaining;
            news.reset_at = used.reset_at;
            // Who reports tokens and no calls speaks of tokens.
            if (used.tokens > 0 && used.api_calls == 0) news.of = Measure::tokens;
        }
        news.began = began;
        news.detail = "a callback of execution " + execution.text() + " said so";
        all.push_back(std::move(news));
    }
    return all;
}

std::optional<Duration> patience_asked(const domain::Callback& callback) {
    std::optional<Duration> longest;
    for (const auto& used : callback.usage)
        if (used.retry_after && *used.retry_after > Duration{0} && (!longest || *longest < *used.retry_after))
            longest = used.retry_after;
    return longest;
}

void add_provider_news(platform::JsonWriter& payload, const std::vector<ProviderNews>& all) {
    if (all.empty()) return;
    payload.open("provider_news", '[');
    for (const auto& news : all) {
        payload.open();
        payload.field("provider", news.provider)
            .field("requests", news.requests)
            .field("was_taken", news.was_taken)
            .field("began", domain::rfc3339(news.began))
            .field("detail", news.detail);
        if (news.retry_after) payload.field("retry_after_ms", news.retry_after->count() / 1000);
        if (news.remaining) payload.field("remaining", *news.remaining).field("of", resource_manager::name(news.of));
        if (news.reset_at) payload.field("reset_at", domain::rfc3339(*news.reset_at));
        payload.close();
    }
    payload.close(']');
}

std::vector<ProviderNews> provider_news_in(std::string_view payload) {
    std::vector<ProviderNews> all;
    // Most events carry none.
    if (payload.find("\"provider_news\"") == std::string_view::npos) return all;
    const auto told = platform::json_member(payload, "provider_news");
    if (!told) return all;
    const auto elements = platform::json_elements(*told);
    for (const auto element : elements) {
        const auto text = [&](std::string_view name) {
            const auto raw = platform::json_member(element, name);
            return raw ? platform::json_string(*raw) : std::string{};
        };
        ProviderNews news;
        news.provider = text("provider");
        news.requests = whole(element, "requests").value_or(0);
        news.was_taken = text("was_taken") == "true";
        news.began = domain::parse_time(text("began")).value_or(domain::kFirstTime);
        news.detail = text("detail");
        if (const auto wait = whole(element, "retry_after_ms")) news.retry_after = std::chrono::milliseconds{*wait};
        news.remaining = whole(element, "remaining");
        news.of = resource_manager::parse_measure(text("of")).value_or(Measure::requests);
        news.reset_at = domain::parse_time(text("reset_at"));
        all.push_back(std::move(news));
    }
    return all;
}

}
