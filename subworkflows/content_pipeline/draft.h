#pragma once
// An article draft: what becomes of one document.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/id.h"
#include "domain/result.h"
#include "subworkflows/content_pipeline/input.h"
#include "subworkflows/content_pipeline/language.h"
#include "subworkflows/content_pipeline/shingles.h"
#include "subworkflows/content_pipeline/source.h"

namespace impresario::subworkflows::content_pipeline {

/// Words of prose that make an article; below it is a note.
inline constexpr std::int64_t kFewestWords = 30;
/// Words that people read in a minute.
inline constexpr std::int64_t kWordsPerMinute = 230;

struct Draft {
    DraftId id;
    std::string key;
    /// One line, at most 200 bytes.
    std::string title;
    /// Not yet unique: the batch sees to that.
    std::string slug;
    std::vector<std::string> summary;
    std::vector<std::string> keywords;
    /// The clean text, see CleanText::text().
    std::string body;
    Language language = Language::english;
    /// Of headings, paragraphs and items; code does not count.
    std::int64_t words = 0;
    /// Rounded up; at least 1.
    std::int64_t reading_minutes = 1;
    /// Where it was fetched from; empty when it came with the input.
    std::string source_url;
    Sketch sketch;
    std::optional<Likeness> duplicate;
};

/// The same execution and key have the same id, so that a second run writes over the first.
DraftId draft_id(const domain::ExecutionId& execution, std::string_view key);

/// Reads `source` and makes a draft of it. Faults are of the document and cannot mend.
domain::Result<Draft, ItemFault> make_draft(const domain::ExecutionId& execution, const Document& document,
                                            const Source& source, const Batch& batch);

}
