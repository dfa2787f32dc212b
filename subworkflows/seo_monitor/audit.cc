#include "subworkflows/seo_monitor/audit.h"

#include <algorithm>

#include "platform/ascii.h"
#include "platform/json_text.h"
#include "subworkflows/seo_monitor/links.h"

namespace impresario::subworkflows::seo_monitor {

using platform::Headers;
using platform::HttpAnswer;
using platform::NoAnswer;
using platform::NotSent;

namespace {

/// A host that left so many requests in a row unanswered is not asked any more: each costs its whole deadline.
constexpr int kPatience = 3;
constexpr int kRobotsRedirects = 5;

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string why_unreachable(const platform::HttpOutcome& outcome) {
    if (const auto* unsent = std::get_if<NotSent>(&outcome)) {
        switch (unsent->why) {
            case NotSent::Why::denied:
                return "its address is not allowed: " + unsent->detail;
            case NotSent::Why::resolve:
                return "its host is not known: " + unsent->detail;
            case NotSent::Why::connect:
                return "no connection: " + unsent->detail;
            case NotSent::Why::tls:
                return "no safe connection: " + unsent->detail;
            case NotSent::Why::write:
                return "the connection broke: " + unsent->detail;
        }
    }
    if (const auto* lost = std::get_if<NoAnswer>(&outcome)) return "no answer: " + lost->detail;
    return {};
}

bool is_denied(const platform::HttpOutcome& outcome) {
    const auto* unsent = std::get_if<NotSent>(&outcome);
    return unsent && unsent->why == NotSent::Why::denied;
}

std::vector<std::string> all_headers(const Headers& headers, std::string_view name) {
    std::vector<std::string> values;
    for (const auto& [key, value] : headers)
        if (platform::header_is(key, name)) values.push_back(platform::storable_text(value));
    return values;
}

struct ContentType {
    std::string type;
    std::string charset;
};

ContentType content_type(const HttpAnswer& answer) {
    const auto value = platform::lowered(answer.header("content-type"));
    ContentType read;
    read.type = value.substr(0, value.find(';'));
    while (!read.type.empty() && read.type.back() == ' ') read.type.pop_back();
    if (const auto at = value.find("charset="); at != std::string::npos) {
        auto rest = std::string_view(value).substr(at + 8);
        if (rest.starts_with('"')) rest.remove_prefix(1);
        read.charset = rest.substr(0, rest.find_first_of("\"; "));
    }
    return read;
}

bool looks_like_html(std::string_view body) {
    while (!body.empty() && static_cast<unsigned char>(body.front()) <= ' ') body.remove_prefix(1);
    const auto start = platform::lowered(body.substr(0, 15));
    return start.starts_with("<!doctype html") || start.starts_with("<html");
}

void append(Findings& all, Findings more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}

struct Auditor::Request {
    std::string key;
    std::string url;
};

/// A chain's end with something to read.
struct Auditor::Arrived {
    HttpAnswer answer;
    std::string url;
    std::vector<Hop> hops;
    std::chrono::milliseconds first_byte{0};
};

Auditor::Auditor(AuditSettings settings, Fetch fetch, std::function<bool()> stopped)
    : settings_(std::move(settings)), fetch_(std::move(fetch)), stopped_(std::move(stopped)) {}

/// nullopt: it was not asked, because the run is to end or the host has fallen silent.
std::optional<Fetched> Auditor::ask(const std::string& method, const std::string& url, const Headers& headers) {
    const auto parsed = platform::parse_url(url);
    if (!parsed) {
        NotSent refused;
        refused.why = NotSent::Why::denied;
        refused.detail = "the URL " + parsed.error().what;
        return Fetched{refused, {}};
    }
    int& silence = silence_[parsed->origin()];
    if (silence >= kPatience || stopped_()) return std::nullopt;
    ++requests_;
    auto fetched = fetch_(method, *parsed, headers);
    const bool answered = std::holds_alternative<HttpAnswer>(fetched.outcome) || is_denied(fetched.outcome);
    silence = answered ? 0 : silence + 1;
    return fetched;
}

/// How an address answers, asked once a run: HEAD, or GET where HEAD is not known. nullopt: it was not asked.
std::optional<Reach> Auditor::reach(const std::string& url) {
    if (const auto known = reached_.find(url); known != reached_.end()) return known->second;
    auto fetched = ask("HEAD", url, {});
    if (fetched)
        if (const auto* answer = std::get_if<HttpAnswer>(&fetched->outcome);
            answer && (answer->status == 405 || answer->status == 501))
            fetched = ask("GET", url, {});
    if (!fetched) return std::nullopt;
    Reach reach;
    if (const auto* answer = std::get_if<HttpAnswer>(&fetched->outcome)) {
        reach.status = answer->status;
    } else {
        reach.error = why_unreachable(fetched->outcome);
    }
    return reached_[url] = reach;
}

/// RFC 9309 §2.3: redirects are followed, 4xx means that all is allowed, and a server in trouble that nothing is.
RobotsFile Auditor::robots_of(const std::string& page_url) {
    const auto origin = origin_of(page_url);
    if (!robots_.contains(origin)) {
        Robots robots;
        std::string url = origin + "/robots.txt";
        for (int step = 0;; ++step) {
            const auto fetched = ask("GET", url, {});
            // Not asked, nothing known; the run is about to say why.
            if (!fetched) return {};
            const auto* answer = std::get_if<HttpAnswer>(&fetched->outcome);
            if (!answer) {
                robots.trouble = "cannot be reached (" + why_unreachable(fetched->outcome) + ")";
                break;
            }
            if (is_redirect(answer->status) && step < kRobotsRedirects) {
                const auto next = resolve(url, answer->header("location"));
                if (!next || !is_web(*next)) break;
                url = *next;
                continue;
            }
            if (answer->status / 100 == 2) robots.file = RobotsTxt::parse(answer->body);
            if (answer->status >= 500 || answer->status == 429)
                robots.trouble = "answers " + std::to_string(answer->status);
            break;
        }
        robots_[origin] = std::move(robots);
    }
    const auto& robots = robots_[origin];
    return {robots.file.verdict(settings_.robots_agent, target_of(page_url)), robots.trouble};
}

LinkReport Auditor::links_of(const Page& page, const std::string& page_url) {
    LinkReport report;
    const auto base = base_of(page, page_url);
    std::set<std::string> seen;
    for (const auto& href : page.links) {
        // A place within the page is no link between pages.
        const auto first = href.find_first_not_of(" \t\r\n");
        if (first == std::string::npos || href[first] == '#') continue;
        const auto url = resolve(base, href);
        if (!url) {
            // Browsers would go nowhere sensible either.
            const auto shown = platform::storable_text(platform::utf8_prefix(href, 200));
            if (seen.insert(shown).second) {
                ++report.internal;
                report.broken.push_back({shown, {0, "the address " + url.error().what}});
            }
            continue;
        }
        if (!is_web(*url) || !seen.insert(*url).second) continue;
        if (!same_site(*url, page_url)) {
            ++report.external;
            continue;
        }
        ++report.internal;
        if (!settings_.check_links) continue;
        const bool known = reached_.contains(*url);
        if (!known && links_asked_ >= settings_.most_links) {
            ++report.unchecked;
            continue;
        }
        if (!known) ++links_asked_;
        const auto reached = reach(*url);
        if (!reached) {
            ++report.unchecked;
        } else if (reached->fails()) {
            report.broken.push_back({*url, *reached});
        } else if (is_redirect(reached->status)) {
            report.redirected.push_back(*url);
        }
    }
    return report;
}

/// What the server does for a client that can unpack; pages themselves are asked for without compression.
std::string Auditor::encoding_of(const std::string& url) {
    Headers headers;
    headers.emplace_back("accept-encoding", "gzip, br");
    const auto fetched = ask("HEAD", url, headers);
    const auto* answer = fetched ? std::get_if<HttpAnswer>(&fetched->outcome) : nullptr;
    // Whoever does not answer HEAD is not blamed for it.
    if (!answer || answer->status != 200) return "unknown";
    return std::string(answer->header("content-encoding"));
}

std::variant<Auditor::Arrived, PageReport, PageFailure> Auditor::arrive(const Request& request) {
    const auto failure = [&](std::string what, bool again) {
        return PageFailure{request.key, request.url, platform::storable_text(what), again};
    };
    const auto start = absolute(request.url);
    if (!start) return failure("the URL " + start.error().what, false);
    if (!is_web(*start)) return failure("the URL must begin with http:// or https://", false);
    if (const auto sendable = platform::parse_url(*start); !sendable)
        return failure("the URL " + sendable.error().what, false);

    Arrived arrived;
    arrived.url = *start;
    std::set<std::string> visited;
    // A chain that leads nowhere is a fact about the page, not a failure to audit it.
    const auto nowhere = [&](int status, std::string what) {
        PageReport report;
        report.key = request.key;
        report.url = request.url;
        report.final_url = arrived.url;
        report.status = status;
        report.findings = {{Check::redirects, Severity::error, platform::storable_text(what)}};
        report.redirects = arrived.hops;
        report.first_byte = arrived.first_byte;
        return report;
    };
    for (;;) {
        visited.insert(arrived.url);
        Headers headers;
        headers.emplace_back("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1");
        auto fetched = ask("GET", arrived.url, headers);
        const std::string where = arrived.hops.empty() ? "" : arrived.url + ": ";
        if (!fetched && stopped_()) return failure("was not reached before the run was stopped", true);
        if (!fetched)
            return failure(where + "was not asked: " + origin_of(arrived.url) + " left " + std::to_string(kPatience) +
                               " requests in a row unanswered",
                           true);
        auto* answer = std::get_if<HttpAnswer>(&fetched->outcome);
        if (!answer) return failure(where + why_unreachable(fetched->outcome), !is_denied(fetched->outcome));
        reached_[arrived.url] = {answer->status, ""};
        arrived.first_byte = fetched->first_byte;
        if (!is_redirect(answer->status)) {
            arrived.answer = std::move(*answer);
            return arrived;
        }
        const auto location = platform::storable_text(answer->header("location"));
        const auto next = resolve(arrived.url, location);
        const bool readable = !location.empty() && next && is_web(*next);
        arrived.hops.push_back({arrived.url, answer->status, readable ? *next : location});
        if (!readable)
            return nowhere(answer->status, location.empty()
                                               ? arrived.url + " redirects without saying where"
                                               : arrived.url + " redirects to what is no web address: " + location);
        if (visited.contains(*next))
            return nowhere(answer->status, "redirects in a loop: " + arrived.url + " leads back to " + *next);
        if (static_cast<int>(arrived.hops.size()) > settings_.follow_redirects)
            return nowhere(answer->status,
                           "redirects more than " + std::to_string(settings_.follow_redirects) + " times");
        arrived.url = *next;
    }
}

PageOutcome Auditor::audit(const std::string& key, const std::string& url) {
    auto reached = arrive({key, url});
    if (auto* failure = std::get_if<PageFailure>(&reached)) return std::move(*failure);
    if (auto* nowhere = std::get_if<PageReport>(&reached)) return std::move(*nowhere);
    auto& arrived = std::get<Arrived>(reached);
    auto& answer = arrived.answer;
    const auto failure = [&](std::string what, bool again) {
        return PageFailure{key, url, platform::storable_text(what), again};
    };

    PageReport report;
    report.key = key;
    report.url = url;
    report.final_url = arrived.url;
    report.status = answer.status;
    report.redirects = arrived.hops;
    report.first_byte = arrived.first_byte;
    // A server in trouble may be well again later; what it says about the page then is what counts.
    if (answer.status >= 500 || answer.status == 429 || answer.status == 408)
        return failure("answers " + std::to_string(answer.status), true);
    append(report.findings, check_status(answer.status));
    append(report.findings, check_redirects(arrived.hops));
    // What an error page says is not what the page would say.
    if (answer.status / 100 != 2) {
        report.bytes = answer.body.size();
        return report;
    }

    const auto type = content_type(answer);
    const bool html = type.type == "text/html" || type.type == "application/xhtml+xml" ||
                      (type.type.empty() && looks_like_html(answer.body));
    if (!html) return failure(type.type.empty() ? "is not HTML" : "is " + type.type + ", not HTML", false);
    if (const auto encoding = platform::lowered(answer.header("content-encoding"));
        !encoding.empty() && encoding != "identity")
        return failure("is sent as " + encoding + " though that was not asked for", false);
    if (answer.cut && answer.body.size() < settings_.max_bytes)
        return failure("broke off after " + std::to_string(answer.body.size()) + " bytes", true);
    const bool cut = answer.body.size() > settings_.max_bytes || answer.cut;
    if (cut) answer.body.resize(settings_.max_bytes);
    report.bytes = answer.body.size();

    const auto parsed = parse_page(answer.body, type.charset);
    if (!parsed) return failure(parsed.error().what, false);
    const Page& page = *parsed;
    if (!page.titles.empty()) report.title = page.titles.front();
    if (!page.descriptions.empty()) report.description = page.descriptions.front();
    report.canonical = canonical_of(page, arrived.url);
    report.words = page.words;

    const auto robots = robots_of(arrived.url);
    std::optional<Reach> canonical;
    if (!report.canonical.empty() && report.canonical != arrived.url) canonical = reach(report.canonical);
    report.links = links_of(page, arrived.url);
    auto data = check_structured_data(page);
    report.structured_data = std::move(data.types);

    append(report.findings, check_title(page));
    append(report.findings, check_description(page));
    append(report.findings, check_canonical(page, arrived.url, canonical ? &*canonical : nullptr));
    append(report.findings,
           check_robots(page, all_headers(answer.headers, "x-robots-tag"), robots, settings_.robots_agent));
    append(report.findings, check_headings(page));
    append(report.findings, check_images(page));
    append(report.findings, check_links(report.links));
    append(report.findings, std::move(data.findings));
    append(report.findings, check_lang(page));
    append(report.findings, check_viewport(page));
    append(report.findings, check_charset(page, type.charset));
    append(report.findings, check_size(report.bytes, cut));
    append(report.findings, check_speed(arrived.first_byte));
    if (report.bytes >= kWorthCompressing)
        append(report.findings, check_compression(report.bytes, encoding_of(arrived.url)));
    // The run came to its end while it asked around: half an audit would look better than the page is.
    if (stopped_()) return failure("was not wholly audited before the run was stopped", true);
    return report;
}

void finish(std::vector<PageOutcome>& outcomes) {
    // Two addresses that lead to one page are not two pages.
    std::map<std::string, std::set<std::string>> titles;
    std::map<std::string, std::set<std::string>> descriptions;
    for (const auto& outcome : outcomes)
        if (const auto* report = std::get_if<PageReport>(&outcome)) {
            if (!report->title.empty()) titles[report->title].insert(report->final_url);
            if (!report->description.empty()) descriptions[report->description].insert(report->final_url);
        }
    const auto note = [](Findings& findings, Check check, const std::set<std::string>& urls, const std::string& own,
                         const std::string& what) {
        if (urls.size() < 2) return;
        std::string others;
        int named = 0;
        for (const auto& url : urls) {
            if (url == own || ++named > 3) continue;
            others += (others.empty() ? "" : ", ") + url;
        }
        if (named > 3) others += " and " + std::to_string(named - 3) + " more";
        findings.push_back({check, Severity::warning, "has the same " + what + " as " + others});
    };
    for (auto& outcome : outcomes)
        if (auto* report = std::get_if<PageReport>(&outcome)) {
            note(report->findings, Check::title, titles[report->title], report->final_url, "title");
            note(report->findings, Check::description, descriptions[report->description], report->final_url,
                 "meta description");
            // In the order of the checks, so that what repeats stands with its like.
            std::stable_sort(report->findings.begin(), report->findings.end(),
                             [](const Finding& a, const Finding& b) { return a.check < b.check; });
            report->score = score(report->findings);
        }
}

}
