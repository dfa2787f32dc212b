#include "subworkflows/content_pipeline/format.h"

#include <algorithm>
#include <string>

#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

/// Signs further in than this change nothing.
constexpr std::size_t kLookedAt = 20'000;

std::string_view trimmed(std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    return line;
}

bool looks_like_html(std::string_view content) {
    const std::string text = lower(content.substr(0, kLookedAt));
    const auto start = text.find_first_not_of(" \t\r\n");
    if (start == std::string::npos) return false;
    const std::string_view body = std::string_view(text).substr(start);
    for (const std::string_view opening :
         {"<!doctype html", "<html", "<head", "<body", "<article", "<main", "<section"})
        if (body.starts_with(opening)) return true;
    if (body.front() != '<') return false;
    // Markdown may begin with a tag too; closed paragraphs are HTML.
    for (const std::string_view closing : {"</p>", "</div>", "</h1>", "</h2>", "</ul>", "</table>", "</li>"})
        if (body.find(closing) != std::string_view::npos) return true;
    return false;
}

bool looks_like_markdown(std::string_view content) {
    content = content.substr(0, kLookedAt);
    int signs = 0;
    int items = 0;
    bool first = true;
    std::string_view before;
    for (std::size_t at = 0; at <= content.size();) {
        const auto end = std::min(content.find('\n', at), content.size());
        const auto line = trimmed(content.substr(at, end - at));
        at = end + 1;
        if (first && line == "---") signs += 2;  // front matter
        if (!line.empty()) first = false;
        const auto hashes = std::min(line.find_first_not_of('#'), line.size());
        if (hashes >= 1 && hashes <= 6 && line.size() > hashes && line[hashes] == ' ') signs += 2;
        if (line.starts_with("```") || line.starts_with("~~~")) signs += 2;
        if (line.size() >= 3 && line.find_first_not_of('=') == std::string_view::npos && !before.empty()) signs += 2;
        if (line.find("](") != std::string_view::npos) signs += 2;
        if (line.starts_with("- ") || line.starts_with("* ") || line.starts_with("> ")) ++items;
        if (const auto bold = line.find("**"); bold != std::string_view::npos)
            if (line.find("**", bold + 2) != std::string_view::npos) ++signs;
        before = line;
    }
    // A plain text may well hold a list; only together with something else it speaks for Markdown.
    return signs >= 2 || (signs == 1 && items >= 2);
}

}

std::string_view name(Format format) {
    switch (format) {
        case Format::text:
            return "text";
        case Format::markdown:
            return "markdown";
        case Format::html:
            return "html";
    }
    return "text";
}

std::optional<Format> parse_format(std::string_view text) {
    for (const auto format : {Format::text, Format::markdown, Format::html})
        if (text == name(format)) return format;
    return std::nullopt;
}

Format guess_format(std::string_view content) {
    if (looks_like_html(content)) return Format::html;
    if (looks_like_markdown(content)) return Format::markdown;
    return Format::text;
}

}
