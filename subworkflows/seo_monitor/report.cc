#include "subworkflows/seo_monitor/report.h"

#include <algorithm>
#include <cmath>

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::subworkflows::seo_monitor {

using platform::JsonWriter;

namespace {

constexpr std::size_t kWorst = 5;

void write(JsonWriter& json, const LinkReport& links) {
    json.open("links", '{').field("internal", links.internal).field("external", links.external);
    json.open("broken", '[');
    for (const auto& link : links.broken) {
        json.open().field("url", link.url);
        if (link.reach.status != 0) {
            json.field("status", link.reach.status);
        } else {
            json.field("error", platform::storable_text(link.reach.error));
        }
        json.close();
    }
    json.close(']').field("unchecked", links.unchecked).close();
}

void write(JsonWriter& json, const PageReport& page) {
    json.open();
    json.field("key", page.key).field("url", page.url).field("final_url", page.final_url);
    json.field("status", page.status).field("score", page.score.value);
    json.open("deductions", '[');
    for (const auto& deduction : page.score.deductions)
        json.open()
            .field("check", name(deduction.check))
            .field("points", deduction.points)
            .field("findings", deduction.findings)
            .close();
    json.close(']').open("findings", '[');
    for (const auto& finding : page.findings)
        json.open()
            .field("check", name(finding.check))
            .field("severity", name(finding.severity))
            .field("detail", platform::storable_text(finding.detail))
            .close();
    json.close(']').field("title", page.title).field("description", page.description);
    json.field("canonical", page.canonical).field("words", page.words);
    write(json, page.links);
    json.texts("structured_data", page.structured_data)
        .field("bytes", page.bytes)
        .field("ttfb_ms", page.first_byte.count());
    json.open("redirects", '[');
    for (const auto& hop : page.redirects)
        json.open().field("url", hop.url).field("status", hop.status).field("to", hop.to).close();
    json.close(']').close();
}

std::string result_json(const std::vector<const PageReport*>& pages) {
    JsonWriter json;
    json.open().open("pages", '[');
    int sum = 0;
    for (const auto* page : pages) {
        write(json, *page);
        sum += page->score.value;
    }
    json.close(']');
    json.field("average_score", std::round(10.0 * sum / static_cast<double>(pages.size())) / 10);
    std::vector<const PageReport*> worst;
    std::copy_if(pages.begin(), pages.end(), std::back_inserter(worst),
                 [](auto* page) { return page->score.value < 100; });
    std::stable_sort(worst.begin(), worst.end(), [](auto* a, auto* b) { return a->score.value < b->score.value; });
    if (worst.size() > kWorst) worst.resize(kWorst);
    json.open("worst", '[');
    for (const auto* page : worst)
        json.open().field("key", page->key).field("url", page->url).field("score", page->score.value).close();
    json.close(']').close();
    return std::move(json).text();
}

domain::ItemOutcome item(const PageOutcome& outcome) {
    domain::ItemOutcome item;
    JsonWriter json;
    if (const auto* report = std::get_if<PageReport>(&outcome)) {
        item.key = report->key;
        json.open().field("key", report->key).field("status", "completed").field("url", report->url);
        json.field("score", report->score.value).close();
    } else {
        const auto& failure = std::get<PageFailure>(outcome);
        item.key = failure.key;
        item.failed = true;
        json.open().field("key", failure.key).field("status", "failed").field("url", failure.url);
        json.open("error", '{')
            .field("message", failure.what)
            .field("retry_recommended", failure.again)
            .close()
            .close();
    }
    item.json = std::move(json).text();
    return item;
}

}

domain::Callback callback_of(const std::vector<PageOutcome>& outcomes, int requests) {
    std::vector<const PageReport*> audited;
    std::vector<const PageFailure*> failed;
    for (const auto& outcome : outcomes) {
        if (const auto* report = std::get_if<PageReport>(&outcome)) audited.push_back(report);
        if (const auto* failure = std::get_if<PageFailure>(&outcome)) failed.push_back(failure);
    }
    domain::Callback callback;
    if (audited.empty()) {
        callback.status = domain::CallbackStatus::failed;
        callback.retry_recommended = std::any_of(failed.begin(), failed.end(), [](auto* page) { return page->again; });
        callback.error_message = "no page could be audited";
        if (!failed.empty()) callback.error_message += "; " + failed.front()->url + " " + failed.front()->what;
        JsonWriter json;
        json.open().field("message", callback.error_message).field("retry_recommended", callback.retry_recommended);
        json.open("pages", '[');
        for (const auto& outcome : outcomes) json.element(item(outcome).json);
        json.close(']').close();
        callback.error_data = std::move(json).text();
    } else {
        callback.status = failed.empty() ? domain::CallbackStatus::completed : domain::CallbackStatus::partial;
        callback.result_data = result_json(audited);
        if (!failed.empty())
            for (const auto& outcome : outcomes) callback.items.push_back(item(outcome));
    }
    callback.items_processed = static_cast<std::int64_t>(audited.size());
    callback.api_calls = requests;
    return callback;
}

domain::Callback refusal(std::string_view message) {
    domain::Callback callback;
    callback.status = domain::CallbackStatus::failed;
    callback.error_message = platform::storable_text(message);
    callback.retry_recommended = false;
    return callback;
}

}
