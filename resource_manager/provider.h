#pragma once
// A provider (an API that many workflow types call) and its limits. Data, not an enum.

#include <cstdint>
#include <optional>
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

    /// The most that can ever be taken at once.
    std::int64_t capacity() const {
        return of != Measure::concurrency && kind == WindowKind::token_bucket ? burst : limit;
    }
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

/// The longest window that a limit may have.
inline constexpr domain::Duration kLongestWindow = std::chrono::hours{24};

/// Everything that is wrong with it; empty when it is good.
domain::DefinitionFaults check(const Provider& provider);

}
