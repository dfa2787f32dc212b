#pragma once
// The table content_pipeline.drafts. Functions borrow a transaction and never open one.

#include <set>
#include <string>
#include <vector>

#include "domain/id.h"
#include "platform/sql.h"
#include "subworkflows/content_pipeline/draft.h"

namespace impresario::subworkflows::content_pipeline {

/// Whose drafts: organizations do not see each other's.
struct Owner {
    std::string organization_id;
    domain::ExecutionId execution;
};

class DraftStore {
  public:
    /// Makes schema and table where they are missing; true when it did.
    bool prepare(platform::Tx& tx) const;

    /// Adds to `seen` what other executions of the organization have stored and one of `drafts` may be like, the oldest
    /// first.
    void find_similar(platform::Tx& tx, const Owner& owner, const std::vector<Draft>& drafts, Seen& seen) const;

    /// The slugs of other executions that begin like one of `drafts`'.
    std::set<std::string> taken_slugs(platform::Tx& tx, const Owner& owner, const std::vector<Draft>& drafts) const;

    /// Writes the drafts, over those of the same execution and key where there are.
    void save(platform::Tx& tx, const Owner& owner, const std::vector<Draft>& drafts) const;
};

}
