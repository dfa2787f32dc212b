// platform::Database and Listener in a simulated world: every job goes to the simulated server, every session is one
// of its sessions. The program is linked with these in place of the real ones.

#include "platform/database.h"

#include "platform/listener.h"
#include "simulation/process.h"
#include "simulation/server.h"
#include "simulation/transaction.h"
#include "simulation/world.h"

namespace impresario::platform {

class Rows::Impl {};

std::size_t Rows::size() const { return 0; }
std::size_t Rows::columns() const { return 0; }
std::string_view Rows::column_name(std::size_t) const { return {}; }
std::size_t Rows::affected() const { return 0; }
bool Rows::null(std::size_t, std::size_t) const { return true; }
std::string_view Rows::text(std::size_t, std::size_t) const { return {}; }
bool Rows::binary(std::size_t) const { return false; }
SqlType Rows::type(std::size_t) const { return SqlType::unknown; }

struct Database::Workers {
    simulation::Process& process;
    DatabaseClock* clock;
};

Database::Database(asio::any_io_executor executor, DatabaseSettings settings, DatabaseClock* clock)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      reachable_(true),
      workers_(new Workers{*simulation::World::current().building, clock}) {}

Database::~Database() = default;

Task<void> Database::submit(std::shared_ptr<Job> job) {
    auto asked_answer = asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
        [workers = workers_.get()](auto handler, std::shared_ptr<Job> given) {
            const auto resume = std::make_shared<decltype(handler)>(std::move(handler));
            simulation::Asked asked;
            asked.transaction = given->transaction;
            asked.body = [given](Tx& tx) { given->run(tx); };
            asked.answer = [given, resume, &process = workers->process](std::exception_ptr failure) {
                given->failure = std::move(failure);
                process.post([resume] { std::move (*resume)(); });
            };
            workers->process.world().server().ask(workers->process, workers->clock, std::move(asked));
        },
        asio::use_awaitable, std::move(job));
    co_await std::move(asked_answer);
}

Listener::Listener(asio::any_io_executor executor, DatabaseSettings settings, std::string channel,
                   std::function<void(const std::string&)> received, std::chrono::milliseconds idle_limit)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      channel_(std::move(channel)),
      received_(std::move(received)),
      idle_limit_(idle_limit) {
    simulation::World::current().building->listen(backend_pid_, hearing_, received_);
}

Listener::~Listener() = default;

}

namespace impresario::simulation {

platform::Rows Transaction::exec(const platform::Statement& statement, const platform::Params&) {
    // Idempotency keys are not simulated.
    if (statement.name != "forget_idempotency_keys")
        World::current().fail("simulation", "no such statement: " + std::string(statement.name));
    return platform::Rows(nullptr);
}

platform::Rows Transaction::run(std::string_view sql, const platform::Params& params) {
    if (sql.starts_with("select pg_notify")) {
        notices.push_back(*params.values().at(0).bytes);
    } else {
        World::current().fail("simulation", "no such statement: " + std::string(sql));
    }
    return platform::Rows(nullptr);
}

}
