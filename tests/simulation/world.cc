#include "simulation/world.h"

#include "simulation/auditor.h"
#include "simulation/peers.h"
#include "simulation/process.h"
#include "simulation/server.h"
#include "simulation/troubles.h"
#include "simulation/users.h"

namespace impresario::simulation {

using domain::Duration;
using std::chrono::minutes;
using std::chrono::seconds;
namespace asio = platform::asio;

namespace {
/// All that is left must have ended that long after everything is well again.
constexpr Duration kLongest = minutes{20};
/// Nothing has changed for that long: it is over.
constexpr Duration kQuiet = seconds{3};
/// Within that the scheduler has learnt of it, however slow each of the transactions of its turns is.
constexpr Duration kLearnt = seconds{10};
}

World* World::current_ = nullptr;

World::World(std::uint64_t seed, bool traced)
    : machine_(seed ^ 0x6d616368696e65ULL),
      chance_(seed),
      weather_(chance_),
      traced_(traced),
      guard_(asio::make_work_guard(io_)),
      keys_({domain::Secret(std::string(64, 'a'))}) {
    current_ = this;
    report_.seed = seed;
    machine_.at_limit_context = this;
    machine_.at_limit = [](void* context) {
        auto& world = *static_cast<World*>(context);
        if (std::exchange(world.due_posted_, true)) return;
        asio::post(world.io_, [&world] { world.run_due(); });
    };
    tables_.catalogue = weather_.catalogue;
    tables_.providers = weather_.providers;
    tables_.fairness = weather_.fairness;
    for (const auto& budget : weather_.budgets) {
        tables_.budgets.emplace_back();
        tables_.budgets.back().budget = budget;
    }
    auditor_ = std::make_unique<Auditor>(*this);
    server_ = std::make_unique<Server>(*this, chance_.fork());
    peers_ = std::make_unique<Peers>(*this, chance_.fork());
    users_ = std::make_unique<Users>(*this, chance_.fork());
    troubles_ = std::make_unique<Troubles>(*this, chance_.fork());
}

World::~World() {
    users_.reset();
    processes_.clear();
    current_ = nullptr;
}

void World::after(Duration wait, std::function<void()> then) {
    if (!guard_) guard_.emplace(asio::make_work_guard(io_));
    events_.push({now() + std::max(wait, Duration{0}), ++order_, std::move(then)});
    machine_.limit(events_.top().at);
}

void World::run_due() {
    due_posted_ = false;
    while (!events_.empty() && events_.top().at <= now()) {
        // The queue does not let go of its first by itself.
        auto run = std::move(const_cast<Event&>(events_.top()).run);
        events_.pop();
        run();
        if (failed() && !over_) finish();
    }
    machine_.limit(events_.empty() ? domain::kNever : events_.top().at);
    // What still waits for an answer must have it: its frame is part of a process.
    if (over_ && events_.empty()) guard_.reset();
}

void World::fail(std::string promise, std::string how) {
    if (failed()) return;
    report_.broken = std::move(promise);
    report_.how = std::move(how) + " (at " + domain::rfc3339(now()).substr(11) + ")";
    tell("BROKEN " + report_.broken + ": " + report_.how);
}

void World::tell(const std::string& line) {
    if (traced_) report_.trace.push_back(domain::rfc3339(now()).substr(11, 12) + " " + line);
}

std::vector<Process*> World::open_processes() {
    std::vector<Process*> open;
    for (auto& process : processes_)
        if (process->open()) open.push_back(process.get());
    return open;
}

Process* World::leader() {
    for (auto& process : processes_)
        if (process->id() == tables_.scheduler.node && process->hub().leads() &&
            process->hub().epoch() == tables_.scheduler.epoch)
            return process.get();
    return nullptr;
}

Process& World::start_process() {
    processes_.push_back(std::make_unique<Process>(*this, ++processes_started_, chance_.next()));
    processes_.back()->start();
    return *processes_.back();
}

Report World::run() {
    const auto begun = now();
    for (int i = 0; i < weather_.processes; ++i) start_process();
    users_->start();
    troubles_->start();
    after(weather_.active, [this] { heal(); });
    io_.run();
    report_.virtual_time = now() - begun;
    report_.executions = tables_.executions.size();
    return std::move(report_);
}

void World::heal() {
    if (over_) return;
    tell("from now on all is well");
    healed_at_ = now();
    trouble_for(Duration{0});
    troubles_->end();
    users_->leave();
    watch_for_the_end();
}

bool World::quiet() {
    for (const auto& [id, row] : tables_.executions)
        if (!domain::terminal(row.status) || row.open_children > 0) return false;
    auto* scheduler = leader();
    return scheduler && scheduler->hub().board() && scheduler->hub().board()->put_off().empty();
}

void World::watch_for_the_end() {
    if (over_) return;
    if (!quiet()) {
        quiet_since_.reset();
    } else if (!quiet_since_) {
        quiet_since_ = now();
    }
    const auto* board = quiet_since_ ? leader()->hub().board() : nullptr;
    const bool learnt = board && board->live() == 0 && board->waiting() == 0;
    const bool ended = quiet_since_ && now() - *quiet_since_ >= (learnt ? kQuiet : kLearnt);
    if (ended || now() - *healed_at_ > kLongest) {
        auditor_->end();
        return finish();
    }
    after(seconds{1}, [this] { watch_for_the_end(); });
}

/// Every process leaves, so that nothing is left to run.
void World::finish() {
    if (std::exchange(over_, true)) return;
    tell("the end");
    for (auto& process : processes_) {
        process->mend();
        process->terminate();
    }
}

Report run(std::uint64_t seed, bool traced) { return World(seed, traced).run(); }

}
