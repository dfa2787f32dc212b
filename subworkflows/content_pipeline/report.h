#pragma once
// What is called back.

#include <string>
#include <vector>

#include "domain/callback.h"
#include "subworkflows/content_pipeline/draft.h"

namespace impresario::subworkflows::content_pipeline {

struct FailedItem {
    std::string key;
    ItemFault fault;
};

/// How a batch went.
struct Outcome {
    /// The keys of all documents that the run was about, in their order.
    std::vector<std::string> keys;
    std::vector<Draft> drafts;
    std::vector<FailedItem> failed;
    std::int64_t fetches = 0;
};

/// completed when all went well, failed when nothing did, partial otherwise, with each item's end and the good drafts.
domain::Callback report(const Outcome& outcome);

/// A run that came to nothing as a whole.
domain::Callback failure(std::string message, bool retry_recommended);

}
