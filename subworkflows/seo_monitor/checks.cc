#include "subworkflows/seo_monitor/checks.h"

#include <algorithm>
#include <optional>

#include "platform/ascii.h"
#include "platform/json_text.h"
#include "subworkflows/seo_monitor/links.h"

namespace impresario::subworkflows::seo_monitor {

namespace {

using platform::JsonType;

constexpr std::size_t kTitleLeast = 10;
constexpr std::size_t kTitleMost = 60;
constexpr std::size_t kDescriptionLeast = 50;
constexpr std::size_t kDescriptionMost = 160;
constexpr std::size_t kHeavy = 200 * 1024;
constexpr std::chrono::milliseconds kSlow{1000};
constexpr std::chrono::milliseconds kVerySlow{3000};

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Characters as readers count them, near enough: code points.
std::size_t characters(std::string_view utf8) {
    return static_cast<std::size_t>(
        std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string quoted(std::string_view text) {
    constexpr std::size_t most = 80;
    return text.size() <= most ? "\"" + std::string(text) + "\""
                               : "\"" + std::string(platform::utf8_prefix(text, most)) + "…\"";
}

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
    return std::to_string(number) + " " + std::string(number == 1 ? one : many);
}

/// The first few, and how many more.
std::string listed(const std::vector<std::string>& items) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(items.size(), most); ++i) text += (i == 0 ? "" : ", ") + items[i];
    if (items.size() > most) text += " and " + std::to_string(items.size() - most) + " more";
    return text;
}

std::vector<std::string> parts(std::string_view text, char separator) {
    std::vector<std::string> found;
    for (;;) {
        const auto end = text.find(separator);
        found.emplace_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return found;
        text.remove_prefix(end + 1);
    }
}

/// What a robots directive list says that matters for being found.
struct Directives {
    bool noindex = false;
    bool nofollow = false;
    void take(std::string_view directive) {
        const auto word = platform::lowered(trimmed(directive));
        if (word == "noindex" || word == "none") noindex = true;
        if (word == "nofollow" || word == "none") nofollow = true;
    }
};

/// "noindex", "googlebot: noindex, nofollow", "unavailable_after: 25 Jun 2030 15:00:00 GMT".
Directives read_robots_header(std::string_view value, std::string_view agent) {
    static constexpr std::string_view with_value[] = {"unavailable_after", "max-snippet", "max-image-preview",
                                                      "max-video-preview"};
    Directives directives;
    bool ours = true;
    for (const auto& part : parts(value, ',')) {
        std::string_view rest = part;
        if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
            const auto before = platform::lowered(trimmed(rest.substr(0, colon)));
            if (std::find(std::begin(with_value), std::end(with_value), before) != std::end(with_value)) continue;
            ours = before == platform::lowered(agent);
            rest.remove_prefix(colon + 1);
        }
        if (ours) directives.take(rest);
    }
    return directives;
}

void judge(const Directives& directives, const std::string& where, Findings& findings) {
    if (directives.noindex)
        findings.push_back(
            {Check::robots, Severity::error, where + " says noindex: the page stays out of search results"});
    if (directives.nofollow)
        findings.push_back(
            {Check::robots, Severity::warning, where + " says nofollow: links on the page count for nothing"});
}

bool looks_like_language(std::string_view lang) {
    const auto subtags = parts(lang, '-');
    const auto alphabetic = [](const std::string& text) {
        return std::all_of(text.begin(), text.end(), [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; });
    };
    if (subtags.front().size() < 2 || subtags.front().size() > 3 || !alphabetic(subtags.front())) return false;
    return std::all_of(subtags.begin() + 1, subtags.end(),
                       [](const std::string& subtag) { return !subtag.empty() && subtag.size() <= 8; });
}

std::string_view without_vocabulary(std::string_view type) {
    for (const std::string_view prefix : {"https://schema.org/", "http://schema.org/", "schema:"})
        if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
    return type;
}

/// One JSON-LD item: its types into `data`; whether it has any.
bool read_types(std::string_view item, StructuredData& data) {
    const auto type = platform::json_member(item, "@type");
    if (!type) return false;
    std::vector<std::string> names;
    if (platform::json_type(*type) == JsonType::string) names.push_back(platform::json_string(*type));
    for (const auto each : platform::json_elements(*type))
        if (platform::json_type(each) == JsonType::string) names.push_back(platform::json_string(each));
    bool any = false;
    for (const auto& each : names) {
        const std::string plain(without_vocabulary(trimmed(each)));
        if (plain.empty()) continue;
        any = true;
        if (std::find(data.types.begin(), data.types.end(), plain) == data.types.end()) data.types.push_back(plain);
    }
    return any;
}

void read_block(std::string_view text, const std::string& which, StructuredData& data) {
    const auto add = [&](Severity severity, const std::string& what) {
        data.findings.push_back({Check::structured_data, severity, which + " " + what});
    };
    if (trimmed(text).empty()) return add(Severity::error, "is empty");
    const auto json = platform::storable_json(text);
    if (!json) {
        const auto offset = std::min(json.error().offset, text.size());
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
        return add(Severity::error, "is not JSON: " + json.error().what + " (line " + std::to_string(line) + ")");
    }
    std::vector<std::string_view> blocks;
    switch (platform::json_type(json->text)) {
        case JsonType::object:
            blocks.push_back(json->text);
            break;
        case JsonType::array:
            blocks = platform::json_elements(json->text);
            break;
        default:
            return add(Severity::error, "is neither an object nor an array of objects");
    }
    if (blocks.empty()) return add(Severity::error, "is empty");
    int without_type = 0;
    for (const auto block : blocks) {
        const auto context = platform::json_member(block, "@context");
        if (!context) {
            add(Severity::error, "has no @context");
        } else if (context->find("schema.org") == std::string_view::npos) {
            add(Severity::notice, "has a @context that is not schema.org");
        }
        const auto graph = platform::json_member(block, "@graph");
        if (graph && platform::json_type(*graph) == JsonType::array) {
            for (const auto item : platform::json_elements(*graph)) without_type += read_types(item, data) ? 0 : 1;
            continue;
        }
        without_type += read_types(block, data) ? 0 : 1;
    }
    if (without_type == 1) add(Severity::error, "has an item without @type");
    if (without_type > 1) add(Severity::error, "has " + std::to_string(without_type) + " items without @type");
}

}

std::string_view name(Check check) {
    switch (check) {
        case Check::status:
            return "status";
        case Check::redirects:
            return "redirects";
        case Check::title:
            return "title";
        case Check::description:
            return "description";
        case Check::canonical:
            return "canonical";
        case Check::robots:
            return "robots";
        case Check::headings:
            return "headings";
        case Check::images:
            return "images";
        case Check::links:
            return "links";
        case Check::structured_data:
            return "structured_data";
        case Check::lang:
            return "lang";
        case Check::viewport:
            return "viewport";
        case Check::charset:
            return "charset";
        case Check::size:
            return "size";
        case Check::speed:
            return "speed";
        case Check::compression:
            return "compression";
    }
    return "";
}

std::string_view name(Severity severity) {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::notice:
            return "notice";
    }
    return "";
}

std::string base_of(const Page& page, const std::string& page_url) {
    if (page.base.empty()) return page_url;
    const auto base = resolve(page_url, page.base);
    return base && is_web(*base) ? *base : page_url;
}

std::string canonical_of(const Page& page, const std::string& page_url) {
    if (page.canonicals.empty() || page.canonicals.front().empty()) return {};
    const auto url = resolve(base_of(page, page_url), page.canonicals.front());
    return url && is_web(*url) ? *url : std::string{};
}

Findings check_status(int status) {
    if (status == 200) return {};
    if (status >= 200 && status < 300)
        return {{Check::status, Severity::warning, "answers " + std::to_string(status) + " instead of 200"}};
    return {{Check::status, Severity::error, "answers " + std::to_string(status)}};
}

Findings check_redirects(const std::vector<Hop>& hops) {
    Findings findings;
    if (hops.empty()) return findings;
    if (hops.size() == 1) {
        findings.push_back({Check::redirects, Severity::notice,
                            "redirects (" + std::to_string(hops.front().status) + ") to " + hops.front().to});
    } else {
        findings.push_back({Check::redirects, Severity::warning,
                            "redirects " + std::to_string(hops.size()) + " times before it reaches " + hops.back().to});
    }
    for (const auto& hop : hops) {
        const bool from_tls = hop.url.starts_with("https:");
        const bool to_tls = hop.to.starts_with("https:");
        if (!from_tls && to_tls)
            findings.push_back({Check::redirects, Severity::notice, hop.url + " goes from http to https"});
        if (from_tls && !to_tls)
            findings.push_back({Check::redirects, Severity::warning, hop.url + " goes from https back to http"});
        if (hop.status != 301 && hop.status != 308)
            findings.push_back({Check::redirects, Severity::notice,
                                hop.url + " redirects for the time being (" + std::to_string(hop.status) +
                                    "): search engines keep the old address"});
    }
    return findings;
}

Findings check_title(const Page& page) {
    Findings findings;
    const auto add = [&](Severity severity, std::string what) {
        findings.push_back({Check::title, severity, std::move(what)});
    };
    if (page.titles.empty()) {
        add(Severity::error, "there is no title");
        return findings;
    }
    if (page.titles.size() > 1) add(Severity::warning, "there are " + std::to_string(page.titles.size()) + " titles");
    const auto length = characters(page.titles.front());
    if (length == 0) {
        add(Severity::error, "the title is empty");
    } else if (length < kTitleLeast) {
        add(Severity::warning, "the title has " + counted(length, "character", "characters") + ", fewer than " +
                                   std::to_string(kTitleLeast) + ": " + quoted(page.titles.front()));
    } else if (length > kTitleMost) {
        add(Severity::warning, "the title has " + std::to_string(length) + " characters, more than " +
                                   std::to_string(kTitleMost) + ": " + quoted(page.titles.front()));
    }
    return findings;
}

Findings check_description(const Page& page) {
    Findings findings;
    const auto add = [&](Severity severity, std::string what) {
        findings.push_back({Check::description, severity, std::move(what)});
    };
    if (page.descriptions.empty()) {
        add(Severity::error, "there is no meta description");
        return findings;
    }
    if (page.descriptions.size() > 1)
        add(Severity::warning, "there are " + std::to_string(page.descriptions.size()) + " meta descriptions");
    const auto length = characters(page.descriptions.front());
    if (length == 0) {
        add(Severity::error, "the meta description is empty");
    } else if (length < kDescriptionLeast) {
        add(Severity::warning, "the meta description has " + counted(length, "character", "characters") +
                                   ", fewer than " + std::to_string(kDescriptionLeast));
    } else if (length > kDescriptionMost) {
        add(Severity::warning, "the meta description has " + std::to_string(length) + " characters, more than " +
                                   std::to_string(kDescriptionMost));
    }
    return findings;
}

Findings check_canonical(const Page& page, const std::string& page_url, const Reach* target) {
    Findings findings;
    const auto add = [&](Severity severity, std::string what) {
        findings.push_back({Check::canonical, severity, std::move(what)});
    };
    if (page.canonicals.empty()) {
        add(Severity::warning, "there is no canonical address");
        return findings;
    }
    if (page.canonicals.size() > 1)
        add(Severity::error, "there are " + std::to_string(page.canonicals.size()) +
                                 " canonical addresses, so none counts: " + listed(page.canonicals));
    const auto& href = page.canonicals.front();
    const auto url = canonical_of(page, page_url);
    if (url.empty()) {
        add(Severity::error,
            href.empty() ? "the canonical address is empty" : "the canonical address cannot be read: " + quoted(href));
        return findings;
    }
    if (!is_absolute(href)) add(Severity::warning, "the canonical address is relative: " + quoted(href));
    if (const auto here = absolute(page_url); !here || *here != url)
        add(Severity::warning, "the canonical address is another page: " + url);
    if (target && target->status == 0) {
        add(Severity::error, "the canonical address " + url + " cannot be reached: " + target->error);
    } else if (target && target->status != 200) {
        add(Severity::error, "the canonical address " + url + " answers " + std::to_string(target->status));
    }
    return findings;
}

Findings check_robots(const Page& page, const std::vector<std::string>& headers, const RobotsFile& file,
                      std::string_view agent) {
    Findings findings;
    for (const auto& meta : page.robots) {
        if (meta.name != "robots" && meta.name != platform::lowered(agent)) continue;
        Directives directives;
        for (const auto& part : parts(meta.content, ',')) directives.take(part);
        judge(directives, "meta " + meta.name, findings);
    }
    for (const auto& header : headers) judge(read_robots_header(header, agent), "X-Robots-Tag", findings);
    if (!file.trouble.empty()) {
        findings.push_back({Check::robots, Severity::error, "robots.txt " + file.trouble + ": crawlers stay away"});
    } else if (!file.verdict.allowed) {
        findings.push_back({Check::robots, Severity::error,
                            "robots.txt keeps " + std::string(agent) + " away by " + quoted(file.verdict.rule)});
    }
    return findings;
}

Findings check_headings(const Page& page) {
    Findings findings;
    const auto add = [&](Severity severity, std::string what) {
        findings.push_back({Check::headings, severity, std::move(what)});
    };
    const auto firsts = std::count_if(page.headings.begin(), page.headings.end(), [](auto& h) { return h.level == 1; });
    if (firsts == 0) add(Severity::error, "there is no h1");
    if (firsts > 1) add(Severity::warning, "there are " + std::to_string(firsts) + " h1");
    std::vector<std::string> skips;
    int empty = 0;
    for (std::size_t i = 0; i < page.headings.size(); ++i) {
        const auto& heading = page.headings[i];
        if (heading.text.empty()) ++empty;
        if (i == 0 || heading.level <= page.headings[i - 1].level + 1) continue;
        skips.push_back("h" + std::to_string(heading.level) + " " + quoted(heading.text) + " after h" +
                        std::to_string(page.headings[i - 1].level));
    }
    if (firsts > 0 && page.headings.front().level != 1)
        add(Severity::notice, "h" + std::to_string(page.headings.front().level) + " stands before the h1");
    if (!skips.empty()) add(Severity::warning, "levels are skipped: " + listed(skips));
    if (empty > 0)
        add(Severity::warning, counted(static_cast<std::size_t>(empty), "heading is empty", "headings are empty"));
    return findings;
}

Findings check_images(const Page& page) {
    std::vector<std::string> without;
    for (const auto& image : page.images)
        if (!image.has_alt) without.push_back(image.src.empty() ? "(no src)" : image.src);
    if (without.empty()) return {};
    return {{Check::images, Severity::warning,
             std::to_string(without.size()) + " of " + counted(page.images.size(), "image has", "images have") +
                 " no alt text: " + listed(without)}};
}

Findings check_links(const LinkReport& links) {
    Findings findings;
    if (!links.broken.empty()) {
        std::vector<std::string> broken;
        for (const auto& link : links.broken)
            broken.push_back(link.url + " (" +
                             (link.reach.status != 0 ? std::to_string(link.reach.status) : link.reach.error) + ")");
        findings.push_back({Check::links, Severity::error,
                            counted(broken.size(), "internal link fails: ", "internal links fail: ") + listed(broken)});
    }
    if (!links.redirected.empty())
        findings.push_back({Check::links, Severity::notice,
                            counted(links.redirected.size(),
                                    "internal link leads to a redirect: ", "internal links lead to redirects: ") +
                                listed(links.redirected)});
    if (links.unchecked > 0)
        findings.push_back(
            {Check::links, Severity::notice,
             counted(static_cast<std::size_t>(links.unchecked), "internal link was", "internal links were") +
                 " not checked"});
    return findings;
}

StructuredData check_structured_data(const Page& page) {
    StructuredData data;
    for (std::size_t i = 0; i < page.json_ld.size(); ++i)
        read_block(page.json_ld[i],
                   page.json_ld.size() == 1 ? "the JSON-LD block" : "JSON-LD block " + std::to_string(i + 1), data);
    if (page.json_ld.empty())
        data.findings.push_back({Check::structured_data, Severity::notice, "there is no structured data (JSON-LD)"});
    return data;
}

Findings check_lang(const Page& page) {
    if (!page.lang || page.lang->empty()) return {{Check::lang, Severity::warning, "html has no lang attribute"}};
    if (!looks_like_language(*page.lang))
        return {{Check::lang, Severity::warning, "lang is no language tag: " + quoted(*page.lang)}};
    return {};
}

Findings check_viewport(const Page& page) {
    if (!page.viewport)
        return {
            {Check::viewport, Severity::warning, "there is no viewport meta: phones show a page made for desktops"}};
    if (platform::lowered(*page.viewport).find("width=device-width") == std::string::npos)
        return {
            {Check::viewport, Severity::notice, "the viewport is not width=device-width: " + quoted(*page.viewport)}};
    return {};
}

Findings check_charset(const Page& page, std::string_view header) {
    const auto served = platform::lowered(header);
    const auto declared = page.charset.value_or("");
    const auto plain = [](const std::string& charset) { return charset == "utf8" ? "utf-8" : charset; };
    if (served.empty() && declared.empty())
        return {{Check::charset, Severity::warning, "neither Content-Type nor the page names a charset"}};
    Findings findings;
    if (!served.empty() && !declared.empty() && plain(served) != plain(declared))
        findings.push_back(
            {Check::charset, Severity::error, "Content-Type says " + served + " and the page says " + declared});
    const auto counts = plain(served.empty() ? declared : served);
    if (counts != "utf-8")
        findings.push_back({Check::charset, Severity::warning, "the charset is " + counts + ", not utf-8"});
    return findings;
}

Findings check_size(std::size_t bytes, bool cut) {
    if (cut)
        return {{Check::size, Severity::error,
                 "is longer than " + std::to_string(bytes) + " bytes, of which these were read"}};
    if (bytes > kHeavy)
        return {{Check::size, Severity::warning,
                 "the HTML has " + std::to_string(bytes) + " bytes, more than " + std::to_string(kHeavy)}};
    return {};
}

Findings check_speed(std::chrono::milliseconds first_byte) {
    if (first_byte <= kSlow) return {};
    return {{Check::speed, first_byte > kVerySlow ? Severity::error : Severity::warning,
             "the first byte took " + std::to_string(first_byte.count()) + " ms, more than " +
                 std::to_string((first_byte > kVerySlow ? kVerySlow : kSlow).count())}};
}

Findings check_compression(std::size_t bytes, std::string_view encoding) {
    if (bytes < kWorthCompressing || (!encoding.empty() && platform::lowered(encoding) != "identity")) return {};
    return {{Check::compression, Severity::notice,
             "is sent uncompressed (" + std::to_string(bytes) + " bytes) though gzip and brotli were offered"}};
}

}
