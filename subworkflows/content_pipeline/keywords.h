#pragma once
// What a text is about, in words and pairs of words.

#include <string>
#include <string_view>
#include <vector>

#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/language.h"

namespace impresario::subworkflows::content_pipeline {

/// At most `most` keywords, the weightiest first. Words are counted by their stems, three times in the title, twice in
/// a heading; two that stand together repeatedly become one keyword ("cold frame") and no longer count alone for those
/// places. Shown in small letters, in the form that occurs most. Words that occur once are left out, unless the text
/// has fewer than three that do not.
std::vector<std::string> keywords_of(std::string_view title, const CleanText& text, Language language,
                                     std::size_t most);

}
