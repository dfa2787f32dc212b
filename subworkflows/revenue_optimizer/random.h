#pragma once
// Chance that gives the same answer everywhere. The standard fixes std::mt19937_64 bit by bit but not its
// distributions, so these are our own, written on uniform doubles.

#include <cstdint>
#include <random>
#include <string_view>

namespace impresario::subworkflows::revenue_optimizer {

/// One stream of random numbers. One thread. The same seed gives the same numbers with every standard library; the
/// only foreign functions are log, sqrt and pow of the C library.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    /// A stream of its own for each item, so that an item's answer depends neither on the items before it nor on
    /// whether it is asked again alone: seeded with splitmix64(seed + FNV-1a(key)).
    /// Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; Fowler, Noll & Vo, FNV-1a.
    static Random for_item(std::uint64_t seed, std::string_view key);

    /// Strictly inside (0, 1): the upper 52 bits, at the middle of their cell, which is exact in a double.
    double unit();

    /// Standard normal. Marsaglia & Bray's polar method, SIAM Review 6 (1964).
    double normal();

    /// Gamma with scale 1; `shape` > 0. Marsaglia & Tsang, "A simple method for generating gamma variables", ACM TOMS
    /// 26 (2000); below shape 1 by their boost, gamma(shape + 1) · U^(1/shape).
    double gamma(double shape);

    /// Beta with both parameters > 0, as X / (X + Y) of two gammas. Devroye, "Non-Uniform Random Variate Generation"
    /// (1986), IX.4.
    double beta(double alpha, double beta);

    /// Chi-square with `degrees` > 0 degrees of freedom: 2 · gamma(degrees / 2).
    double chi_square(double degrees) { return 2 * gamma(degrees / 2); }

  private:
    std::mt19937_64 engine_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}
