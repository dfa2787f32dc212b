#pragma once
// The hub's own loop without HTTP: scheduler, planner, group commit and tables, with a peer that is a function call.

#include <vector>

#include "bench/figures.h"

namespace impresario::bench {

/// plan, claim, accept, settle on the tables, events and all. Executions a second.
std::vector<Figure> lifecycle(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count);
/// The same without and with what ended long ago being removed meanwhile, and their ratio.
std::vector<Figure> beside_retention(const StageSettings& settings, platform::LocalPostgres& postgres,
                                     std::int64_t count);
/// What a turn that grants 50 takes with `shallow` and with `deep` queued, in milliseconds, and their ratio.
std::vector<Figure> claim(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t shallow,
                          std::int64_t deep);
/// The same at 200,000 queued, fresh and after 60,000 have completed while another session holds a snapshot.
std::vector<Figure> claim_beside_snapshot(const StageSettings& settings, platform::LocalPostgres& postgres);

}
