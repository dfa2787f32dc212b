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

    /// The first closed gate that stops the whole lane, if there is one; charges nothing.
    std::optional<domain::Gate> closed(const domain::Demand& demand, const std::vector<std::size_t>& named,
                                       domain::TimePoint now) const;

  private:
    std::vector<Limiter> limiters_;
};

}
