#pragma once
// Of one limit with a key what each key has used of it, and which keys have something waiting. Pure; the scheduler's,
// on the network thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resource_manager/meter.h"

namespace impresario::resource_manager {

/// What one key may have of it: its ceiling as a limit, of a token bucket as a sliding window.
ProviderLimit limit_of_one_key(ProviderLimit limit);

/// A key that has used nothing and waits for nothing is not remembered.
class KeyMeters {
  public:
    explicit KeyMeters(const ProviderLimit& limit);

    void charge(const std::string& key, std::int64_t amount);
    void give_back(const std::string& key, std::int64_t amount);
    void end(const std::string& key, std::int64_t amount, domain::TimePoint at);

    /// Of which keys something has ended or was given back since the last call: whoever was told when more fits may be
    /// told an earlier time now.
    std::set<std::string> take_eased() { return std::exchange(eased_, {}); }

    /// Work of this key has come to wait for the limit, whose first start asks that much; or (−1) does not any more.
    void waits(const std::string& key, std::int64_t asks, int more);
    void nobody_waits() { waiting_.clear(); }

    /// What counts against it at `now`.
    std::int64_t used(const std::string& key, domain::TimePoint now) const;
    std::int64_t in_flight(const std::string& key) const;
    /// When so much more is within its ceiling, as Meter has it.
    std::optional<domain::TimePoint> fits_at(const std::string& key, std::int64_t amount, domain::TimePoint now) const;
    /// What its guarantee still gives it, if a start of it waits that is within that; one that asks more has no first
    /// claim, or all might wait for each other.
    std::int64_t claim(const std::string& key, domain::TimePoint now) const;

    /// The claims of all together. Counted as far as `enough`: more than that is some number beyond it.
    std::int64_t claimed(std::int64_t enough, domain::TimePoint now) const;

    /// Drops what no longer counts; of many keys some at a time.
    void trim(domain::TimePoint now);
    std::size_t size() const { return keys_.size(); }
    std::size_t in_use(domain::TimePoint now) const;
    std::size_t waiting() const { return waiting_.size(); }

    struct Use {
        std::string key;
        std::int64_t used = 0;
        std::int64_t in_flight = 0;
    };
    /// Those that have used most, at most `most` of them.
    std::vector<Use> heaviest(std::size_t most, domain::TimePoint now) const;

  private:
    Meter& meter(const std::string& key);
    const Meter* known(std::string_view key) const;

    ProviderLimit limit_;
    std::map<std::string, Meter, std::less<>> keys_;
    /// What the first starts of each ask, and how many of them.
    using Asks = std::map<std::int64_t, int>;
    std::int64_t claim(const std::string& key, const Asks& asks, domain::TimePoint now) const;
    std::map<std::string, Asks, std::less<>> waiting_;
    std::set<std::string> eased_;
    /// From where the next trim goes on.
    std::string trimmed_to_;
};

}
