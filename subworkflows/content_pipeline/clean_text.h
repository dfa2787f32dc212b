#pragma once
// A document without its clothes: headings, paragraphs, list items and code, each on its own, without markup, scripts
// or what surrounds an article on its page.

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "subworkflows/content_pipeline/format.h"

namespace impresario::subworkflows::content_pipeline {

struct Block {
    enum class Kind { heading, paragraph, item, code };
    Kind kind = Kind::paragraph;
    /// Of a heading, 1 to 6; 0 otherwise.
    int level = 0;
    /// One tidy line and never empty; code keeps its lines.
    std::string text;

    friend bool operator==(const Block&, const Block&) = default;
    /// Written for people: not code.
    bool prose() const { return kind != Kind::code; }
};

struct CleanText {
    /// What the document itself calls its title (<title>, <h1>, front matter), empty when it does not.
    std::string title;
    std::vector<Block> blocks;

    /// Blocks with empty lines between them; items begin with "- ".
    std::string text() const;
};

/// HTML and Markdown nested deeper than this are refused: no page for people is, and parsers grow slow.
inline constexpr int kDeepest = 1000;

/// `content` is UTF-8. The fault says what keeps it from being read ("is nested too deep").
domain::Result<CleanText, domain::Fault> clean(std::string_view content, Format format);

/// The three it chooses from.
CleanText clean_plain(std::string_view content);
domain::Result<CleanText, domain::Fault> clean_markdown(std::string_view content);
/// Script, style, nav, header, footer, aside and what is hidden or a control go; entities are decoded.
domain::Result<CleanText, domain::Fault> clean_html(std::string_view content);

}
