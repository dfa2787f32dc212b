#pragma once
// The hub beside its peers on the same PostgreSQL, in turns, as ratios of the same round: on a machine that does other
// things too a figure by itself says little.

#include <functional>
#include <string>
#include <vector>

#include "bench/figures.h"

namespace impresario::bench {

/// One thing to measure.
struct Measure {
    std::string name;
    std::string what;
    /// What it is compared with, for run_peer.
    std::vector<std::string> peers;
    std::function<std::vector<Figure>(const StageSettings&, platform::LocalPostgres&, const Counts&)> run;
};
const std::vector<Measure>& measures();

/// A bound on a ratio of two figures of one round; `against` empty: on the figure itself.
struct Target {
    std::string figure;
    std::string against;
    double bound = 0;
    bool at_least = true;
    std::string what;
};
const std::vector<Target>& targets();

/// The peers' figures that a target is held against: graphile-worker, the batched Node hub, pgbench. Throws
/// std::runtime_error when node, its modules or pgbench are missing.
std::vector<Figure> run_peer(const std::string& name, const StageSettings& settings, platform::LocalPostgres& postgres);

}
