#include "subworkflows/revenue_optimizer/random.h"

#include <cmath>

namespace impresario::subworkflows::revenue_optimizer {

Random Random::for_item(std::uint64_t seed, std::string_view key) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : key) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    std::uint64_t mixed = seed + hash + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111eb;
    return Random(mixed ^ (mixed >> 31U));
}

double Random::unit() { return (static_cast<double>(engine_() >> 12U) + 0.5) * 0x1p-52; }

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    double u = 0;
    double v = 0;
    double s = 0;
    do {
        u = 2 * unit() - 1;
        v = 2 * unit() - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double scale = std::sqrt(-2 * std::log(s) / s);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
}

double Random::gamma(double shape) {
    if (shape < 1) {
        const double boosted = gamma(shape + 1);
        return boosted * std::pow(unit(), 1 / shape);
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double x = normal();
        const double root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root;
        const double u = unit();
        const double x2 = x * x;
        // The cheap test accepts all but one in fifty.
        if (u < 1 - 0.0331 * x2 * x2) return d * v;
        if (std::log(u) < 0.5 * x2 + d * (1 - v + std::log(v))) return d * v;
    }
}

double Random::beta(double alpha, double beta) {
    const double x = gamma(alpha);
    const double y = gamma(beta);
    return x / (x + y);
}

}
