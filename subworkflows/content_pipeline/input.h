#pragma once
// What a run is asked for.

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"

namespace impresario::subworkflows::content_pipeline {

struct Document {
    /// Unique within the batch; its index where the input names none.
    std::string key;
    /// Empty: found in the document.
    std::string title;
    /// "text", "markdown", "html", or something we do not know; empty: guessed.
    std::string format;
    /// One of the two, as `by_url` says.
    std::string content;
    std::string url;
    bool by_url = false;
};

struct Batch {
    std::vector<Document> documents;
    /// 1 to 20.
    int summary_sentences = 3;
    /// 1 to 50.
    int max_keywords = 10;
};

/// Documents in one batch, at most.
inline constexpr std::size_t kMostDocuments = 1000;

struct InputFault {
    /// RFC 6901, within input_data; "" is input_data itself.
    std::string pointer;
    std::string what;
    /// "input_data/documents/3/key must be a string"
    std::string text() const { return "input_data" + pointer + " " + what; }
};

/// Reads input_data (JSON that was checked). The first thing that is not as it should be is the fault. null stands for
/// absent, and members we do not know are left alone: they may mean something to the one who asked.
domain::Result<Batch, InputFault> parse_batch(std::string_view json);

}
