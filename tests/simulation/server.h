#pragma once
// The database server as processes reach it: over a network that fails, in transactions that end well, badly or in
// doubt.

#include <exception>
#include <functional>

#include "platform/clock.h"
#include "platform/sql.h"
#include "simulation/chance.h"
#include "simulation/tables.h"

namespace impresario::simulation {

class Process;
class Transaction;
class World;

/// One job of a process's pool.
struct Asked {
    bool transaction = true;
    std::function<void(platform::Tx&)> body;
    /// Told once, with what went wrong or nothing.
    std::function<void(std::exception_ptr)> answer;
};

class Server {
  public:
    Server(World& world, Chance chance) : world_(world), chance_(chance) {}

    void ask(Process& by, platform::DatabaseClock* clock, Asked asked);
    /// What an SQL caller does at a prompt: at once, without failing.
    void prompt(const std::function<void(Transaction&)>& body);

    /// Gone for that long, for everybody.
    void go_away(domain::Duration length);
    bool away() const;
    void mend() { away_until_ = {}; }

  private:
    enum class Fate { done, unavailable, refused, doubt_lost, doubt_done, doubt_late };
    Fate fate_of(Process& by, const Asked& asked);
    void run(Process& by, domain::TimePoint begun, Asked asked);
    void commit(Transaction& tx);

    World& world_;
    Chance chance_;
    domain::TimePoint away_until_{};
    std::uint64_t xid_ = 100;
};

}
