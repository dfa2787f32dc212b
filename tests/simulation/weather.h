#pragma once
// How one world is: its size, its workflow types and what goes wrong in it. Drawn once from the seed; each kind of
// trouble is off in some worlds and frequent in others.

#include "domain/time.h"
#include "resource_manager/breaker.h"
#include "resource_manager/budget.h"
#include "resource_manager/fairness.h"
#include "resource_manager/provider.h"
#include "simulation/chance.h"
#include "subworkflows/catalogue.h"

namespace impresario::simulation {

struct Weather {
    explicit Weather(Chance& chance);

    int processes = 1;
    int executions = 30;
    /// Users and troubles are active that long.
    domain::Duration active{std::chrono::seconds{60}};
    int max_batch_size = 100;
    /// A few failures are enough for some, and their openings are shorter.
    resource_manager::BreakerSettings breaker;
    subworkflows::Catalogue catalogue;
    std::vector<resource_manager::Provider> providers;
    std::vector<resource_manager::Budget> budgets;
    std::optional<resource_manager::FairnessPolicy> fairness;
    std::array<domain::BatchId, 2> batches;
    int memory_total_mb = 2048;
    /// A look at the database that takes longer is pressure.
    domain::Duration pressure{std::chrono::milliseconds{500}};
    /// Values that concurrency keys and those of limits take.
    int keys = 3;

    /// Of a transaction.
    double unavailable = 0;
    double refused_for_now = 0;
    double doubt_lost = 0;
    double doubt_done = 0;
    double doubt_late = 0;
    double slow = 0;
    double lost_notice = 0;

    /// Mean times between troubles; zero: none.
    domain::Duration crashes{0};
    domain::Duration pauses{0};
    domain::Duration lost_sessions{0};
    domain::Duration partitions{0};
    domain::Duration outages{0};
    domain::Duration held_rows{0};
    domain::Duration poisoned_rows{0};

    /// Of a request to a peer, by weight.
    struct Answers {
        int accept = 60;
        int done = 8;
        int reject = 2;
        int overload = 3;
        int busy = 2;
        int failure = 4;
        int proxy = 3;
        int fault = 2;
        int silent_started = 3;
        int silent_lost = 3;
        int no_connection = 3;
    } answers;
    /// Of a run: how it ends and what else it says.
    struct Runs {
        int completed = 60;
        int failed = 12;
        int hopeless = 4;
        int timeout = 3;
        int partial = 6;
        int never = 6;
        double early = 0.1;
        double twice = 0.15;
        double contradiction = 0.1;
        double heartbeats = 0.3;
        double late = 0.1;
    } runs;
};

}
