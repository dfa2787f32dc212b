#pragma once
// A page as search engines read it: what its HTML says, nothing of how it was fetched.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"

namespace impresario::subworkflows::seo_monitor {

struct Heading {
    int level = 1;
    /// Its text and the alt texts inside it.
    std::string text;
};

struct Image {
    std::string src;
    /// An alt attribute is there; an empty one says that the image is decoration.
    bool has_alt = false;
};

struct RobotsMeta {
    /// `robots`, or the one crawler it is meant for; lower case.
    std::string name;
    std::string content;
};

/// Texts are UTF-8 that can be stored, runs of blanks made one.
struct Page {
    std::optional<std::string> lang;
    std::vector<std::string> titles;
    std::vector<std::string> descriptions;
    /// As they stand in href.
    std::vector<std::string> canonicals;
    std::vector<RobotsMeta> robots;
    std::vector<Heading> headings;
    std::vector<Image> images;
    /// href of every `a` and `area`, as it stands there.
    std::vector<std::string> links;
    /// Text of every application/ld+json script.
    std::vector<std::string> json_ld;
    std::optional<std::string> viewport;
    /// What the document declares about itself; lower case.
    std::optional<std::string> charset;
    /// href of `base`; empty when there is none.
    std::string base;
    /// Words that a reader sees: text outside of script, style, template and noscript, split at blanks.
    std::size_t words = 0;
};

/// Reads HTML as browsers do, whatever its mistakes. `charset` is what the Content-Type header says, empty for nothing;
/// the document's own word counts without it. ISO-8859-1 and Windows-1252 are turned into UTF-8, other encodings read
/// as UTF-8. The fault: to read the page would cost too much time or memory (markup nested without end).
domain::Result<Page, domain::Fault> parse_page(std::string_view html, std::string_view charset = {});

}
