#pragma once
// A provider (an API that many workflow types call) and its limits. Data, not an enum.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/definition_fault.h"
#include "domain/demand.h"
#include "domain/time.h"

namespace impresario::resource_manager {

/// What a limit counts.
enum class Measure {
    requests,
    tokens,
    items,
    /// Micro-dollars.
    cost,
    /// Executions that are under way at once; no window.
    concurrency,
};
std::string_view name(Measure measure);
std::optional<Measure> parse_measure(std::string_view text);

enum class WindowKind {
    /// At most `limit` in any `per`.
    sliding_window,
    /// At most `limit` between two resets, which are `per` apart.
    fixed_window,
    /// `burst` at once, refilled with `limit` in each `per`.
    token_bucket,
};
std::string_view name(WindowKind kind);
std::optional<WindowKind> parse_window_kind(std::string_view text);

/// Whom a limit is for: everybody together, or each of them apart.
enum class LimitScope { global, organization, workflow_type };
std::string_view name(LimitScope scope);
std::optional<LimitScope> parse_limit_scope(std::string_view text);

struct ProviderLimit {
    std::string name;
    Measure of = Measure::requests;
    /// In units of `of`; at least 1.
    std::int64_t limit = 1;
    domain::Duration per = std::chrono::minutes{1};
    WindowKind kind = WindowKind::sliding_window;
    LimitScope scope = LimitScope::global;
    /// Of a token bucket: the most at once; at least 1.
    std::int64_t burst = 1;
    /// Of a fixed window: a moment at which it resets is this long after midnight UTC.
    domain::Duration reset_at{0};
    /// JSON pointer into the input, as somebody wrote it: what stands there (a customer, a domain) is the key, and
    /// `limit` is what all keys take together. Empty: nobody asks.
    std::string key = {};
    /// Of each key: what it has first claim to while it has something waiting, and the most that it may have; both in
    /// units of `of` within `per`, of a token bucket too.
    std::int64_t guaranteed = 0;
    std::int64_t ceiling = 0;

    bool keyed() const { return !key.empty(); }
    /// Where the key is, within the input.
    std::string_view pointer() const;
    /// The most that can ever be taken at once.
    std::int64_t capacity() const {
        return of != Measure::concurrency && kind == WindowKind::token_bucket ? burst : limit;
    }
    /// The same of one start, which has one key.
    std::int64_t most_of_one() const { return keyed() ? std::min(capacity(), ceiling) : capacity(); }
    /// What a start that needs this takes of the limit.
    std::int64_t amount(const domain::Need& need) const;
    friend bool operator==(const ProviderLimit&, const ProviderLimit&) = default;
};

struct Provider {
    std::string name;
    std::vector<ProviderLimit> limits;
    int version = 1;
    domain::TimePoint updated_at;
    std::string updated_by;
    std::string reason;
};

/// Where in the input the limits on these needs have their keys, each once and in order.
std::set<std::string> key_pointers(const std::vector<Provider>& providers, const std::vector<domain::Need>& needs);

/// The longest window that a limit may have.
inline constexpr domain::Duration kLongestWindow = std::chrono::hours{24};

/// Everything that is wrong with it; empty when it is good.
domain::DefinitionFaults check(const Provider& provider);

}
