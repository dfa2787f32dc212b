#include "simulation/process.h"

namespace impresario::simulation {

using domain::Duration;
using platform::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;
namespace asio = platform::asio;

namespace {

platform::DatabaseSettings database_settings() { return {}; }

orchestrator::NodeSettings node_settings(const std::string& name) {
    orchestrator::NodeSettings settings;
    settings.name = name;
    settings.catalogue_poll = seconds{5};
    settings.drain = seconds{2};
    return settings;
}

orchestrator::HubSettings hub_settings(const Weather& weather) {
    orchestrator::HubSettings settings;
    settings.max_batch_size = weather.max_batch_size;
    settings.breaker = weather.breaker;
    settings.memory_total_mb = weather.memory_total_mb;
    settings.pressure.wait = weather.pressure;
    settings.pressure.memory_mb = 0;
    settings.tick = seconds{30};
    return settings;
}

/// Marks the process that the doubles of the database and the network belong to.
World& built_in(World& world, Process* process) {
    world.building = process;
    return world;
}

}

Process::Process(World& world, int number, std::uint64_t seed)
    : world_(built_in(world, this)),
      name_("hub-" + std::to_string(number)),
      desk_(world.io()),
      chance_(seed),
      database_(executor(), database_settings(), &clock_),
      client_(executor(), {}),
      probe_(metrics_),
      node_({executor(), database_, clock_, chance_, ids_, world.keys(), client_, probe_}, node_settings(name_)),
      hub_(node_, hub_settings(world.weather())),
      id_(node_.id()) {
    world.building = nullptr;
    well_since_ = world.now();
}

Process::~Process() = default;

void Process::spawn(Task<void> task) {
    asio::co_spawn(executor(), std::move(task), [](const std::exception_ptr&) {});
}

void Process::start() { spawn(boot()); }

Task<void> Process::boot() {
    for (bool read = false; !read;) {
        try {
            co_await node_.refresh_catalogue();
            read = true;
        } catch (const std::exception&) {
        }
        if (leaving_) co_return;
        if (!read) co_await platform::pause_for(milliseconds{500});
    }
    world_.building = this;
    listener_ = std::make_unique<platform::Listener>(executor(), database_settings(), "orchestration_event",
                                                     [this](const std::string& payload) { hub_.hint(payload); });
    world_.building = nullptr;
    node_.set_listener(listener_.get());
    node_.start();
    started_ = true;
    world_.tell(name_ + " serves");
    co_await hub_.run();
}

void Process::crash(bool session_ends) {
    if (leaving_) return;
    world_.tell(name_ + " is killed");
    cut_off_ = true;
    leaving_ = true;
    if (session_ends) {
        close_session();
    } else {
        world_.after(chance_.between(seconds{8}, seconds{40}), [this] { close_session(); });
    }
    trouble();
    desk_.go_on();
    spawn(leave(false));
}

void Process::terminate() {
    if (leaving_) return;
    world_.tell(name_ + " is terminated");
    leaving_ = true;
    // Where it stood still until now, it knows no more than it did then.
    trouble();
    desk_.go_on();
    spawn(leave(true));
}

Task<void> Process::leave(bool) {
    co_await hub_.stop();
    co_await node_.drain();
    close_session();
    cut_off_ = true;
    gone_ = true;
    world_.tell(name_ + " has gone");
}

void Process::stop() {
    if (leaving_) return;
    world_.tell(name_ + " is stopped");
    trouble();
    desk_.stop();
}

void Process::go_on() {
    if (!desk_.stopped()) return;
    world_.tell(name_ + " goes on");
    trouble();
    desk_.go_on();
}

void Process::part(Duration length) {
    if (leaving_) return;
    world_.tell(name_ + " does not reach the database for " + domain::human(length));
    parted_until_ = std::max(parted_until_, world_.now() + length);
    well_since_ = std::max(well_since_, parted_until_);
    // The server notices after a while that nobody is there.
    const auto noticed = std::min<Duration>(length, seconds{10});
    if (length > noticed)
        world_.after(noticed, [this, away = length - noticed] {
            if (partitioned()) lose_session(away);
        });
}

void Process::lose_session(Duration away) {
    if (leaving_ || session_ == 0) return;
    world_.tell(name_ + " loses its session for " + domain::human(away));
    well_since_ = std::max(well_since_, world_.now() + away);
    close_session();
    world_.after(away, [this] {
        if (!leaving_ && session_ == 0) open_session();
    });
}

void Process::mend() {
    if (partitioned()) {
        parted_until_ = world_.now();
        trouble();
    }
    go_on();
    if (started_ && !leaving_ && session_ == 0) {
        open_session();
        trouble();
    }
}

void Process::listen(std::atomic<int>& backend_pid, std::atomic<bool>& hearing,
                     std::function<void(const std::string&)> received) {
    backend_pid_ = &backend_pid;
    hearing_ = &hearing;
    received_ = std::move(received);
    open_session();
}

void Process::open_session() {
    static constexpr int kFirst = 1000;
    session_ = kFirst + world_.next_session();
    world_.tables().sessions.insert(session_);
    backend_pid_->store(session_);
    hearing_->store(true);
    post([this] { received_(""); });
}

void Process::close_session() {
    if (session_ == 0) return;
    world_.tables().sessions.erase(session_);
    session_ = 0;
    backend_pid_->store(0);
    hearing_->store(false);
}

void Process::hear(const std::string& notice) {
    if (cut_off_ || session_ == 0 || partitioned()) return;
    post([this, notice] { received_(notice); });
}

}
