#include "subworkflows/content_pipeline/source.h"

#include <charconv>

#include "subworkflows/content_pipeline/encoding.h"
#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

struct ContentType {
    /// "text/html", in small letters.
    std::string media;
    std::string charset;
};

std::string charset_after(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == '"' || text[at] == '\'' || text[at] == ' ')) ++at;
    const auto end = text.find_first_of("\"'; />", at);
    return std::string(text.substr(at, end == std::string_view::npos ? end : end - at));
}

ContentType content_type(std::string_view header) {
    const std::string text = lower(header);
    ContentType type;
    type.media = tidy(std::string_view(text).substr(0, text.find(';')));
    if (const auto at = text.find("charset="); at != std::string::npos) type.charset = charset_after(text, at + 8);
    return type;
}

/// <meta charset="…">, which stands within the first 1024 bytes where it counts.
std::string charset_within(std::string_view html) {
    const std::string text = lower(html.substr(0, 1024));
    const auto meta = text.find("<meta");
    const auto at = meta == std::string::npos ? meta : text.find("charset=", meta);
    return at == std::string::npos ? std::string{} : charset_after(text, at + 8);
}

bool is_markdown_address(std::string_view url) {
    const std::string path = lower(url.substr(0, url.find_first_of("?#")));
    return path.ends_with(".md") || path.ends_with(".markdown");
}

std::string media_format(const Document& document, const ContentType& type, std::string_view body) {
    if (type.media == "text/html" || type.media == "application/xhtml+xml") return "html";
    if (type.media == "text/markdown" || type.media == "text/x-markdown") return "markdown";
    if (type.media == "text/plain" || type.media.empty()) {
        if (!document.format.empty()) return document.format;
        if (is_markdown_address(document.url)) return "markdown";
        return type.media.empty() ? std::string(name(guess_format(body))) : "text";
    }
    return {};
}

ItemFault unknown_format(const std::string& format) {
    return {"has the unknown format '" + format + "'; known are text, markdown and html", false, std::nullopt};
}

std::optional<domain::Duration> retry_after(const platform::HttpAnswer& answer) {
    const auto header = answer.header("retry-after");
    std::int64_t seconds = -1;
    std::from_chars(header.data(), header.data() + header.size(), seconds);
    if (seconds < 0 || seconds > 86400) return std::nullopt;
    return std::chrono::seconds{seconds};
}

ItemFault refused(const platform::HttpAnswer& answer) {
    ItemFault fault{"was not fetched: the answer was " + std::to_string(answer.status), true, retry_after(answer)};
    const auto location = answer.header("location");
    if (answer.status / 100 == 3 && !location.empty())
        fault.what += ", to be found at " + std::string(location) + " (redirects are not followed)";
    return fault;
}

domain::Result<Source, ItemFault> checked(Source source) {
    if (auto why = why_not_text(source.text); !why.empty()) return ItemFault{std::move(why), false, std::nullopt};
    if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
        return ItemFault{"is empty", false, std::nullopt};
    return source;
}

}

domain::Result<Source, ItemFault> given_source(const Document& document) {
    Source source;
    if (document.format.empty()) {
        source.format = guess_format(document.content);
    } else if (const auto known = parse_format(document.format)) {
        source.format = *known;
    } else {
        return unknown_format(document.format);
    }
    auto text = text_from(document.content, "");
    if (!text) return ItemFault{text.error().what, false, std::nullopt};
    source.text = *std::move(text);
    return checked(std::move(source));
}

domain::Result<Source, ItemFault> fetched_source(const Document& document, const platform::HttpOutcome& outcome) {
    if (const auto* unsent = std::get_if<platform::NotSent>(&outcome)) {
        // Where we may not go to, we may not go to later either.
        const bool denied = unsent->why == platform::NotSent::Why::denied;
        return ItemFault{"was not fetched: " + unsent->detail, !denied, std::nullopt};
    }
    if (const auto* silent = std::get_if<platform::NoAnswer>(&outcome))
        return ItemFault{"was not fetched: " + silent->detail, true, std::nullopt};
    const auto& answer = std::get<platform::HttpAnswer>(outcome);
    if (answer.status != 200) return refused(answer);
    if (answer.cut) return ItemFault{"is larger than we read", false, std::nullopt};
    if (const auto packed = answer.header("content-encoding"); !packed.empty() && packed != "identity")
        return ItemFault{"came packed as " + std::string(packed) + ", which was not asked for", false, std::nullopt};
    const auto type = content_type(answer.header("content-type"));
    const auto format = media_format(document, type, answer.body);
    if (format.empty()) return unknown_format(type.media);
    const auto known = parse_format(format);
    if (!known) return unknown_format(format);
    const auto charset = type.charset.empty() && *known == Format::html ? charset_within(answer.body) : type.charset;
    auto text = text_from(answer.body, charset);
    if (!text) return ItemFault{text.error().what, false, std::nullopt};
    return checked({*std::move(text), *known});
}

platform::Headers fetch_headers() {
    return {{"accept", "text/html, text/markdown;q=0.9, text/plain;q=0.8"},
            {"accept-encoding", "identity"},
            {"user-agent", "Impresario-content-pipeline/1"}};
}

}
