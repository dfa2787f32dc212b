#include "subworkflows/intelligence_engine/hub_history.h"

#include <algorithm>
#include <charconv>

#include "platform/json_text.h"
#include "subworkflows/intelligence_engine/history_json.h"

namespace impresario::subworkflows::intelligence_engine {

using domain::Duration;
using platform::HttpAnswer;
using std::chrono::seconds;

namespace {

/// Retry-After in seconds; a date, which needs a clock, counts as absent.
std::optional<Duration> retry_after(const HttpAnswer& answer) {
    const auto text = answer.header("retry-after");
    std::int64_t whole = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return seconds{std::clamp<std::int64_t>(whole, 0, 86'400)};
}

/// What problem+json says about it, for people; empty where the body says nothing.
std::string detail_of(const HttpAnswer& answer) {
    if (!platform::check_json(answer.body)) return {};
    const auto detail = platform::json_member(answer.body, "detail");
    if (!detail || platform::json_type(*detail) != platform::JsonType::string) return {};
    return ": " + std::string(platform::utf8_prefix(platform::json_string(*detail), 300));
}

std::string text_of(const JsonMistake& mistake) {
    return (mistake.pointer.empty() ? "it" : mistake.pointer) + " " + mistake.what;
}

HubFault stopped_fault() { return {"the run was stopped while the history was read", true, {}, true}; }

}

domain::Result<platform::Url, domain::Fault> hub_of_callback(std::string_view callback_url) {
    auto url = platform::parse_url(callback_url);
    if (!url) return domain::Fault{"the trigger's callback_url " + url.error().what};
    const auto at = url->target.find("/v1/callbacks/");
    if (at == std::string::npos)
        return domain::Fault{
            "the trigger's callback_url is not one of a hub's API (…/v1/callbacks/…); set "
            "INTELLIGENCE_ENGINE_HUB_URL"};
    url->target = url->target.substr(0, at);
    return *url;
}

HubHistory::HubHistory(platform::Url hub, domain::Secret key, Doors doors, std::int64_t most_per_type)
    : hub_(std::move(hub)), key_(std::move(key)), doors_(std::move(doors)), most_per_type_(most_per_type) {
    const auto end = hub_.target.find_last_not_of('/');
    hub_.target.resize(end == std::string::npos ? 0 : end + 1);
}

domain::Result<HttpAnswer, HubFault> HubHistory::get(const std::string& path_and_query) {
    platform::Url url = hub_;
    url.target += path_and_query;
    const platform::Headers headers{{"authorization", "Bearer " + key_.reveal()}, {"accept", "application/json"}};
    HubFault last;
    for (int tries = 1;; ++tries) {
        if (doors_.stopped()) return stopped_fault();
        ++requests_;
        platform::HttpOutcome outcome = doors_.fetch("GET", url, headers, "");
        Duration wait = seconds{1LL << (tries - 1)};
        if (auto* answer = std::get_if<HttpAnswer>(&outcome)) {
            const std::string said = std::to_string(answer->status) + detail_of(*answer);
            if (answer->status == 200) {
                if (!answer->cut) return std::move(*answer);
                return HubFault{"the hub's answer was larger than can be taken", false};
            }
            if (answer->status == 401)
                return HubFault{
                    "the hub does not accept the key in INTELLIGENCE_ENGINE_HUB_KEY (" + said + ")", false, {}, true};
            if (answer->status == 403)
                return HubFault{
                    "the key in INTELLIGENCE_ENGINE_HUB_KEY may not view executions (" + said + ")", false, {}, true};
            if (answer->status == 404)
                return HubFault{hub_.origin() + hub_.target + " is no hub's address (" + said + ")", false};
            if (answer->status != 429 && answer->status < 500) return HubFault{"the hub answered " + said, false};
            last = {"the hub answered " + said};
            if (answer->status == 429 || answer->status == 503) {
                last.retry_after = retry_after(*answer);
                if (last.retry_after && *last.retry_after > kLongestWait) return last;
                wait = last.retry_after.value_or(wait);
            }
        } else if (const auto* unsent = std::get_if<platform::NotSent>(&outcome)) {
            if (unsent->why == platform::NotSent::Why::denied)
                return HubFault{
                    "the hub at " + hub_.origin() +
                        " lies where this service may not send to; allow its block in IMPRESARIO_EGRESS_ALLOW",
                    false,
                    {},
                    true};
            last = {"the hub at " + hub_.origin() + " could not be reached: " + unsent->detail};
        } else {
            last = {"the hub gave no answer: " + std::get<platform::NoAnswer>(outcome).detail};
        }
        if (tries >= kTries) {
            last.what += ", " + std::to_string(kTries) + " times";
            return last;
        }
        doors_.pause(wait);
    }
}

domain::Result<std::vector<std::string>, HubFault> HubHistory::type_names() {
    auto answer = get("/v1/workflow-types");
    if (!answer) return answer.error();
    auto names = parse_type_names(answer->body);
    if (!names) return HubFault{"the hub's answer is not a list of workflow types: " + text_of(names.error())};
    return *std::move(names);
}

domain::Result<TypeHistory, HubFault> HubHistory::type(const std::string& workflow_type, Span created) {
    TypeHistory history;
    history.workflow_type = workflow_type;
    history.since = created.from;
    const std::string query = "/v1/executions?limit=500&workflow_type=" + platform::percent_encode(workflow_type) +
                              "&created_after=" + platform::percent_encode(domain::rfc3339(created.from)) +
                              "&created_before=" + platform::percent_encode(domain::rfc3339(created.to));
    std::string cursor;
    for (;;) {
        auto answer = get(cursor.empty() ? query : query + "&cursor=" + platform::percent_encode(cursor));
        if (!answer) return answer.error();
        auto page = parse_page(answer->body);
        if (!page) return HubFault{"the hub's answer is not a page of executions: " + text_of(page.error())};
        for (auto& [type, execution] : page->executions) {
            if (type != workflow_type)
                return HubFault{"the hub's answer holds executions of " + type + " where " + workflow_type +
                                " was asked for"};
            history.executions.push_back(std::move(execution));
        }
        executions_ += static_cast<std::int64_t>(page->executions.size());
        doors_.progress(executions_, workflow_type);
        if (page->next_cursor.empty()) return history;
        if (page->next_cursor == cursor) return HubFault{"the hub's cursor does not move on"};
        if (static_cast<std::int64_t>(history.executions.size()) >= most_per_type_) {
            // Pages come newest first, so what is missing is older than the last one read.
            history.cut = true;
            history.since = history.executions.back().created_at;
            return history;
        }
        cursor = page->next_cursor;
    }
}

domain::Result<Reading, HubFault> read_histories(HubHistory& hub, std::vector<std::string> types, Span created,
                                                 const std::function<bool(const std::string&)>& wants) {
    const bool all = types.empty();
    if (all) {
        auto names = hub.type_names();
        if (!names) return names.error();
        types = *std::move(names);
    }
    Reading reading;
    bool any_failed = false;
    bool any_again = false;
    for (const auto& name : types) {
        if (!wants(name)) continue;
        auto read = hub.type(name, created);
        if (read) {
            if (!all || !read->executions.empty()) reading.histories.push_back(*std::move(read));
            continue;
        }
        const HubFault& fault = read.error();
        if (fault.everywhere) return fault;
        any_failed = true;
        any_again = any_again || fault.again;
        if (fault.retry_after)
            reading.retry_after = std::max(reading.retry_after.value_or(Duration{0}), *fault.retry_after);
        TypeHistory failed;
        failed.workflow_type = name;
        failed.failure = fault.what;
        reading.histories.push_back(std::move(failed));
    }
    reading.again = !any_failed || any_again;
    return reading;
}

}
