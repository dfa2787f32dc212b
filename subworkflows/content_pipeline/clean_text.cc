#include "subworkflows/content_pipeline/clean_text.h"

#include <algorithm>

#include "subworkflows/content_pipeline/letters.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

/// The length of "- ", "* ", "• ", "12. " or "3) " at the start of a line; 0 when it begins no item.
std::size_t bullet(std::string_view line) {
    for (const std::string_view mark : {"- ", "* ", "+ ", "\xE2\x80\xA2 ", "\xE2\x80\x93 "})
        if (line.starts_with(mark)) return mark.size();
    std::size_t digits = 0;
    while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') ++digits;
    if (digits == 0 || digits > 3 || digits + 1 >= line.size()) return 0;
    return (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ' ? digits + 2 : 0;
}

/// Whether the first lines of a text are its heading: one short line that does not end like a sentence.
bool is_heading(std::string_view text) {
    if (text.size() > 100) return false;
    static constexpr std::string_view ends = ".!?:;,";
    return ends.find(text.back()) == std::string_view::npos;
}

}

std::string CleanText::text() const {
    std::string text;
    const Block* before = nullptr;
    for (const auto& block : blocks) {
        const bool listed = before && before->kind == Block::Kind::item && block.kind == Block::Kind::item;
        if (before) text += listed ? "\n" : "\n\n";
        if (block.kind == Block::Kind::item) text += "- ";
        text += block.text;
        before = &block;
    }
    return text;
}

CleanText clean_plain(std::string_view content) {
    CleanText clean;
    std::string open;
    auto kind = Block::Kind::paragraph;
    int lines = 0;
    const auto flush = [&] {
        auto line = tidy(open);
        open.clear();
        if (!line.empty()) {
            const bool first = clean.blocks.empty() && lines == 1 && kind == Block::Kind::paragraph;
            if (first && is_heading(line)) {
                clean.blocks.push_back({Block::Kind::heading, 1, std::move(line)});
            } else {
                clean.blocks.push_back({kind, 0, std::move(line)});
            }
        }
        kind = Block::Kind::paragraph;
        lines = 0;
    };
    bool more = false;
    for (std::size_t at = 0; at < content.size();) {
        const auto end = std::min(content.find('\n', at), content.size());
        std::string_view line = content.substr(at, end - at);
        at = end + 1;
        while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
        if (line.empty() || line == "\r") {
            flush();
            continue;
        }
        more = more || !clean.blocks.empty();
        if (const auto mark = bullet(line)) {
            flush();
            kind = Block::Kind::item;
            line.remove_prefix(mark);
        }
        open += line;
        open += '\n';
        ++lines;
    }
    flush();
    // A single line is all there is, and no heading over nothing.
    if (!more && clean.blocks.size() == 1) clean.blocks[0] = {Block::Kind::paragraph, 0, clean.blocks[0].text};
    return clean;
}

domain::Result<CleanText, domain::Fault> clean(std::string_view content, Format format) {
    switch (format) {
        case Format::html:
            return clean_html(content);
        case Format::markdown:
            return clean_markdown(content);
        case Format::text:
            break;
    }
    return clean_plain(content);
}

}
