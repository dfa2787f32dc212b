#pragma once
// Chance in a simulated world: everything comes from one seed.

#include <cstdint>
#include <vector>

#include "domain/time.h"
#include "platform/dice.h"

namespace impresario::simulation {

/// SplitMix64. Each part of the world has its own, so that one more draw in one part leaves the others as they were.
class Chance final : public platform::Dice {
  public:
    explicit Chance(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
        return z ^ z >> 31;
    }
    double unit() override { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
    bool happens(double probability) { return unit() < probability; }
    /// Both ends included.
    int between(int least, int most) {
        return least + static_cast<int>(next() % static_cast<std::uint64_t>(most - least + 1));
    }
    domain::Duration between(domain::Duration least, domain::Duration most) {
        return least +
               domain::Duration{static_cast<std::int64_t>(unit() * static_cast<double>((most - least).count()))};
    }
    /// Mostly near `usual`, now and then up to `worst`.
    domain::Duration delay(domain::Duration usual, domain::Duration worst) {
        return happens(0.04) ? between(usual, worst) : between(usual / 4, usual);
    }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[next() % from.size()];
    }
    Chance fork() { return Chance(next()); }

  private:
    std::uint64_t state_;
};

}
