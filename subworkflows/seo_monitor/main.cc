// The SEO monitor: fetches pages, audits them, and tells what it found. README.md says how to try it.
#include <chrono>

#include "subworkflows/kit/service.h"
#include "subworkflows/seo_monitor/audit.h"
#include "subworkflows/seo_monitor/input.h"
#include "subworkflows/seo_monitor/report.h"

namespace {

namespace kit = impresario::subworkflows::kit;
namespace platform = impresario::platform;
namespace seo = impresario::subworkflows::seo_monitor;

impresario::domain::Callback work(kit::Run& run) {
    const auto input = seo::parse_input(run.trigger().input_data);
    if (!input) return seo::refusal(input.error().text());
    std::vector<seo::PageRequest> pages;
    for (const auto& page : input->pages)
        if (run.wants(page.key)) pages.push_back(page);
    if (pages.empty()) return seo::refusal("none of context.retry_items is a key of input_data/pages");

    const auto fetch = [&run](const std::string& method, const platform::Url& url, const platform::Headers& headers) {
        auto sent = headers;
        sent.emplace_back("user-agent", "impresario-seo-monitor/1.0");
        auto outcome = run.fetch(method, url, sent, "");
        const auto* answer = std::get_if<platform::HttpAnswer>(&outcome);
        const auto first_byte = answer ? answer->first_byte : std::chrono::milliseconds{0};
        return seo::Fetched{std::move(outcome), first_byte};
    };
    seo::Auditor auditor(input->settings, fetch, [&run] { return run.stopped(); });
    std::vector<seo::PageOutcome> outcomes;
    for (const auto& page : pages) {
        run.progress(static_cast<std::int64_t>(outcomes.size()), static_cast<std::int64_t>(pages.size()), page.url);
        // After a stop every page left fails at once, without a request: nothing is passed over in silence.
        outcomes.push_back(auditor.audit(page.key, page.url));
    }
    seo::finish(outcomes);
    return seo::callback_of(outcomes, auditor.requests());
}

}

int main(int argc, char** argv) { return kit::serve(kit::settings_from(argc, argv, "seo-monitor"), work); }
