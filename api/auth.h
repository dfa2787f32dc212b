#pragma once
// Who asks: API keys, stored as hashes, scoped to an organization and a role.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/lane.h"
#include "domain/secret.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::api {

/// Each may do what those before it may.
enum class Role { viewer, submitter, operator_, admin };
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view text);

struct Caller {
    domain::ApiKeyId key;
    std::string organization_id;
    std::string name;
    Role role = Role::viewer;

    /// What is shared by all organizations is the business of those of `default`.
    bool looks_after_all() const { return organization_id == domain::kDefaultOrganization; }
    /// The organization whose things it may see; "": all of them.
    std::string scope() const { return looks_after_all() ? "" : organization_id; }
};

struct ApiKeyRow {
    Caller caller;
    /// "imp_AbCd…": enough to recognise it by.
    std::string hint;
    domain::TimePoint created_at;
    std::optional<domain::TimePoint> revoked_at;
};

/// The keys that are valid now, by hash. Immutable; replaced as a whole when the catalogue's version grows.
class ApiKeys {
  public:
    explicit ApiKeys(std::map<std::string, Caller> by_hash) : by_hash_(std::move(by_hash)) {}
    static bool well_formed(std::string_view token);
    /// Looked up by the hash, so that nothing about a near miss can be timed.
    const Caller* find(std::string_view token) const;
    std::set<domain::ApiKeyId> ids() const;

  private:
    std::map<std::string, Caller> by_hash_;
};

/// Borrows a transaction. Stateless; any thread.
class ApiKeyStore {
  public:
    std::shared_ptr<const ApiKeys> load(platform::Tx& tx) const;
    /// Makes a key and returns its text, which is shown once and never again.
    domain::Secret create(platform::Tx& tx, const Caller& caller) const;
    std::vector<ApiKeyRow> list(platform::Tx& tx) const;
    /// False when there is no such key alive.
    bool revoke(platform::Tx& tx, const domain::ApiKeyId& id) const;
};

}
