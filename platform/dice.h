#pragma once
// Chance as an interface.

#include <cstdint>
#include <random>

namespace impresario::platform {

class Dice {
  public:
    virtual ~Dice() = default;
    /// In [0, 1).
    virtual double unit() = 0;
};

/// Seeded, so that a run can be repeated. One thread.
class SeededDice final : public Dice {
  public:
    explicit SeededDice(std::uint64_t seed) : engine_(seed) {}
    double unit() override { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }

  private:
    std::mt19937_64 engine_;
};

/// A seed from the system's entropy.
std::uint64_t entropy_seed();

}
