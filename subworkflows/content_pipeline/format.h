#pragma once
// What a document is written in.

#include <optional>
#include <string_view>

namespace impresario::subworkflows::content_pipeline {

enum class Format { text, markdown, html };

std::string_view name(Format format);
/// "text", "markdown" or "html"; nullopt for anything else.
std::optional<Format> parse_format(std::string_view text);

/// From the signs within: tags, headings, fences, links. Text when in doubt, for text is always readable.
Format guess_format(std::string_view content);

}
