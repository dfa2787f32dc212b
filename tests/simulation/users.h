#pragma once
// Simulated people and programs: they enqueue, cancel, move, reopen, pause, and write SQL, at random times.

#include "orchestrator/command.h"
#include "simulation/chance.h"
#include "simulation/world.h"

namespace impresario::simulation {

class Users {
  public:
    Users(World& world, Chance chance) : world_(world), chance_(chance) {}

    void start();
    /// Pauses are taken back; nobody does anything any more.
    void leave();

  private:
    void enqueue(int count);
    void meddle();
    void pause_lane();
    void write_sql();
    void submit(const domain::ExecutionId& id, orchestrator::Happening happening);
    /// Something that exists; those that `wanted` is true of are preferred.
    template <class Wanted>
    const domain::Execution* some(Wanted wanted);

    World& world_;
    Chance chance_;
    bool left_ = false;
    std::int64_t reported_ = 0;
};

}
