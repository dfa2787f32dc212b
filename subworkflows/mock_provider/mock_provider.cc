#include "subworkflows/mock_provider/mock_provider.h"

#include <algorithm>

namespace impresario::subworkflows::mock_provider {

using domain::Duration;
using domain::TimePoint;

namespace {
/// About four bytes of a prompt are a token, and every answer is as long.
constexpr std::int64_t kBytesPerToken = 4;
constexpr std::int64_t kAnswerTokens = 200;
}

std::int64_t MockProvider::limit(TimePoint now) const {
    const bool less = terms_.moves.count() > 0 && now.time_since_epoch() / terms_.moves % 2 == 1;
    return std::max<std::int64_t>(1, less ? terms_.limit * 2 / 3 : terms_.limit);
}

std::optional<Billed> MockProvider::ask(std::string_view prompt, TimePoint now) {
    while (!calls_.empty() && now - calls_.front() >= terms_.window) calls_.pop_front();
    const auto used = static_cast<std::int64_t>(calls_.size());
    if (used >= limit(now)) {
        ++refused_;
        return std::nullopt;
    }
    calls_.push_back(now);
    ++answered_;
    Billed bill;
    bill.tokens = static_cast<std::int64_t>(prompt.size()) / kBytesPerToken + kAnswerTokens;
    // A part of a micro-dollar is one.
    bill.cost = {(bill.tokens * terms_.per_thousand_tokens.value + 999) / 1000};
    bill.remaining = limit(now) - used - 1;
    bill.reset_at = calls_.back() + terms_.window;
    return bill;
}

Duration MockProvider::retry_after(TimePoint now) const {
    const auto most = static_cast<std::size_t>(limit(now));
    if (calls_.size() < most) return Duration{0};
    return std::max(Duration{0}, calls_[calls_.size() - most] + terms_.window - now);
}

}
