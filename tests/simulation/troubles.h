#pragma once
// What goes wrong around the hub: processes die, stop and lose their way, the database goes away, rows are held.

#include "simulation/chance.h"
#include "simulation/world.h"

namespace impresario::simulation {

class Troubles {
  public:
    Troubles(World& world, Chance chance) : world_(world), chance_(chance) {}

    void start();
    /// All is well again.
    void end();

  private:
    void every(domain::Duration mean, void (Troubles::*trouble)());
    Process* some_process();
    void crash();
    void stop();
    void lose_session();
    void part();
    void outage();
    void hold_row();
    void poison_row();

    World& world_;
    Chance chance_;
    bool ended_ = false;
};

}
