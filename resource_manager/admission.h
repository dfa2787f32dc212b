#pragma once
// May it go now? Demand × limiters × now → a verdict. Pure.

#include <cstddef>
#include <variant>
#include <vector>

#include "resource_manager/limiter.h"

namespace impresario::resource_manager {

/// Not now, and why. `whole_lane`: nothing else of the lane can go either.
struct Deferred {
    domain::Gate gate;
    bool whole_lane = false;
};

using Verdict = std::variant<Granted, Deferred>;

/// The limiters of one turn, charged as it grants. Several lanes may name the same limiter.
class Admission {
  public:
    /// Adds a limiter and returns its place, by which lanes name it.
    std::size_t add(Limiter limiter);

    /// Asks the named limiters in order; charges all of them or none.
    Verdict admit(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now);

    /// The first closed gate that stops the whole lane, if there is one; charges nothing. One whose key may have no
    /// more speaks for its key only.
    std::optional<domain::Gate> closed(const domain::Demand& demand, const std::vector<std::size_t>& named,
                                       domain::TimePoint now) const;

    /// Whether something else than limits with keys keeps all of the lane from starting, and that for long (it is no
    /// quantity that others give back at any moment): then nothing of it waits for such a limit.
    bool stopped(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now) const;
    /// Whether one of these, which are about keys, stops it; then it has been asked about.
    bool behind_key(const domain::Demand& demand, const std::vector<std::size_t>& shares, domain::TimePoint now);
    /// Whether all that stops it, if anything, is quantities that others give back: those are kept for one that
    /// starves.
    bool lacks_only(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now) const;
    Limiter& at(std::size_t place) { return limiters_[place]; }
    /// Guarantees of keys may have left room that nobody was given: worth another turn.
    bool left_room() const;

    /// A head that asks this may go now: of those, who asks least tries what is only tried.
    void offer(const domain::Demand& demand, const std::vector<std::size_t>& named);

  private:
    void keep(const domain::Demand& demand, const std::vector<std::size_t>& named, domain::TimePoint now);

    std::vector<Limiter> limiters_;
};

}
