#pragma once
// A stand-in for a provider of language models: takes so many calls in any window, bills tokens, and does not say what
// its limit is. Pure.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "domain/money.h"
#include "domain/time.h"

namespace impresario::subworkflows::mock_provider {

struct Terms {
    std::string name = "gemini";
    /// Calls within any window; every other `moves` it takes two thirds of that.
    std::int64_t limit = 60;
    domain::Duration window = std::chrono::minutes{1};
    /// Zero: the limit stays.
    domain::Duration moves{0};
    domain::MicroUsd per_thousand_tokens{500};
};

/// It answered, and this is the bill.
struct Billed {
    std::int64_t tokens = 0;
    domain::MicroUsd cost;
    /// Calls that are left at this moment, and when all of them are again.
    std::int64_t remaining = 0;
    domain::TimePoint reset_at;
};

class MockProvider {
  public:
    explicit MockProvider(Terms terms) : terms_(std::move(terms)) {}

    const Terms& terms() const { return terms_; }
    std::int64_t limit(domain::TimePoint now) const;
    /// nullopt: too many; come again after retry_after(now).
    std::optional<Billed> ask(std::string_view prompt, domain::TimePoint now);
    /// Until one more fits.
    domain::Duration retry_after(domain::TimePoint now) const;
    std::int64_t answered() const { return answered_; }
    std::int64_t refused() const { return refused_; }

  private:
    Terms terms_;
    std::deque<domain::TimePoint> calls_;
    std::int64_t answered_ = 0;
    std::int64_t refused_ = 0;
};

}
