#pragma once
// Locks in the database, for work that is not yet under the hub. Borrows a transaction. Stateless; any thread. SQL
// callers have the same by the functions of migrations/0027_locks.up.sql.

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::schedules {

inline constexpr std::size_t kLongestLockName = 200;
inline constexpr int kLongestLockSeconds = 86'400;

struct Lock {
    std::string name;
    std::string owner;
    /// Higher than that of whoever held it before.
    std::int64_t token = 0;
    domain::TimePoint acquired_at;
    domain::TimePoint held_until;
    /// Its time is not over.
    bool held = false;
    /// Whose it is by its type; it holds it until its attempt is over.
    std::optional<domain::ExecutionId> execution = {};
};

/// Whose and which.
struct LockName {
    std::string organization_id;
    std::string name;
    friend auto operator<=>(const LockName&, const LockName&) = default;
};

/// A lock that a type names, and the execution that is to hold it.
struct TypeLock {
    LockName lock;
    domain::ExecutionId execution;
    domain::AttemptId attempt;
    /// For people.
    std::string owner;
};

/// One that somebody else holds.
struct HeldLock {
    LockName lock;
    std::string owner;
    domain::TimePoint held_until;
};

/// What waits for a row that somebody else has in a transaction throws StatementRefused (`later()`) after a quarter of
/// a second. `key`: the API key that asks; a lock is renewed and released by the one that acquired it.
class LockStore {
  public:
    /// Its token; nullopt: another has it. The same owner asking again by the same key has it still.
    std::optional<std::int64_t> acquire(platform::Tx& tx, const LockName& lock, const std::string& owner,
                                        const domain::ApiKeyId& key, int seconds) const;
    /// False: it is not held with this token any more.
    bool renew(platform::Tx& tx, const LockName& lock, const domain::ApiKeyId& key, std::int64_t token,
               int seconds) const;
    bool release(platform::Tx& tx, const LockName& lock, const domain::ApiKeyId& key, std::int64_t token) const;
    /// Takes it from whoever has it, and tells who; nullopt: nobody.
    std::optional<Lock> take_away(platform::Tx& tx, const LockName& lock) const;
    /// nullopt: nobody has it, nor had it lately without releasing it.
    std::optional<Lock> find(platform::Tx& tx, const LockName& lock) const;
    /// For executions that are granted in this transaction. Who is returned does not have it: somebody else does, or is
    /// just taking it or giving it back; that is not waited for.
    std::set<domain::ExecutionId> take(platform::Tx& tx, const std::vector<TypeLock>& locks) const;
    /// Of those that types name the ones that are held by others than executions.
    std::vector<HeldLock> of_types(platform::Tx& tx) const;

    /// At most 1000, those that are held first.
    std::vector<Lock> list(platform::Tx& tx, const std::string& organization_id) const;
};

}
