#pragma once
// A lane: the queue of one workflow type in one organization.

#include <compare>
#include <string>

namespace impresario::domain {

/// The tenant that everything belongs to unless it says otherwise.
inline constexpr const char* kDefaultOrganization = "default";

struct Lane {
    std::string organization_id;
    std::string workflow_type;
    friend auto operator<=>(const Lane&, const Lane&) = default;
    /// "default/content_pipeline": for logs.
    std::string text() const { return organization_id + "/" + workflow_type; }
};

}
