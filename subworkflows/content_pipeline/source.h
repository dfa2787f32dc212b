#pragma once
// A document's text, wherever it came from.

#include <optional>
#include <string>

#include "domain/result.h"
#include "domain/time.h"
#include "platform/http_client.h"
#include "subworkflows/content_pipeline/format.h"
#include "subworkflows/content_pipeline/input.h"

namespace impresario::subworkflows::content_pipeline {

/// Why one document made no draft.
struct ItemFault {
    /// A sentence without its subject: "is empty".
    std::string what;
    /// Asking again later may help: true for what a network did, false for what the document is.
    bool can_mend = false;
    /// What the other side asked us to wait.
    std::optional<domain::Duration> retry_after;
};

struct Source {
    /// UTF-8.
    std::string text;
    Format format = Format::text;
};

/// The text that came with the input.
domain::Result<Source, ItemFault> given_source(const Document& document);

/// The text of an answer to GET. Its content-type decides the format; a text that says no more than "text" is what the
/// document's format says, or Markdown where the address ends like that. Any status but 200 is a fault that can mend.
domain::Result<Source, ItemFault> fetched_source(const Document& document, const platform::HttpOutcome& outcome);

/// What we ask with.
platform::Headers fetch_headers();

}
