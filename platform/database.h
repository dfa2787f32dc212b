#pragma once
// The database's threads: libpqxx blocks, so a transaction runs on one of them while its caller waits.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "domain/secret.h"
#include "platform/async.h"
#include "platform/clock.h"
#include "platform/sql.h"

namespace impresario::platform {

struct DatabaseSettings {
    /// libpq connection string or URL.
    domain::Secret url;
    /// Connections, and threads; of the hub's whole limit (003's max_connections, 20).
    int connections = 4;
    /// No statement runs longer (003's query_timeout_ms).
    std::chrono::milliseconds statement_timeout{5000};
    /// A job that has not begun by then is refused: the database is slower than its work.
    std::chrono::milliseconds queue_limit{3000};
    /// Behind a pooler in transaction mode: nothing is prepared and settings are made in each transaction (R4).
    bool pooled = false;
    std::string application_name = "impresario";
};

/// A connection of one's own, for the threads of Database, the listener and short-lived commands. Blocks.
class Connection {
  public:
    /// Connects; throws DatabaseUnavailable.
    Connection(const DatabaseSettings& settings, DatabaseClock* clock);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Runs `body` in one transaction and commits; rolls back when it throws. Throws DatabaseUnavailable,
    /// DatabaseInDoubt, StatementRefused.
    void transact(const std::function<void(Tx&)>& body);
    /// Runs `body` without a transaction around it: each statement commits by itself. For single reads. Behind a pooler
    /// it is a transaction all the same.
    void autocommit(const std::function<void(Tx&)>& body);

    /// The server's process for this session; behind a pooler in transaction mode that of the latest transaction.
    int backend_pid();
    int socket() const;

    /// Starts listening; `received` is called with channel and payload from within wait_for_notifications.
    void listen(const std::string& channel, std::function<void(const std::string&)> received);
    /// Returns after `longest` or once something has arrived.
    void wait_for_notifications(std::chrono::milliseconds longest);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A pool of connections, each with its thread. Jobs are taken first in, first out. Its methods belong to the network
/// thread; bodies run on the database threads and must own what they touch.
class Database {
  public:
    Database(asio::any_io_executor executor, DatabaseSettings settings, DatabaseClock* clock);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs `body(Tx&)` in one transaction, commits, and resumes the caller with its result. A deadlock, a
    /// serialization failure or TryAgain runs it again (three times at most), so it must not consume what it captured.
    /// Throws DatabaseUnavailable (nothing happened), DatabaseInDoubt (may have happened), StatementRefused, or what
    /// `body` threw (rolled back).
    template <class Body>
    auto transact(Body body) -> Task<std::invoke_result_t<Body&, Tx&>> {
        return start(std::move(body), true);
    }

    /// The same without a transaction around it: for one read.
    template <class Body>
    auto read(Body body) -> Task<std::invoke_result_t<Body&, Tx&>> {
        return start(std::move(body), false);
    }

    /// Whether the last contact was good. Not a probe: /readyz makes one.
    bool reachable() const { return reachable_.load(); }
    int connections() const { return settings_.connections; }
    int busy() const { return busy_.load(); }
    int waiting() const { return waiting_.load(); }

  private:
    struct Job {
        virtual ~Job() = default;
        virtual void run(Tx& tx) = 0;
        bool transaction = true;
        std::exception_ptr failure;
    };
    template <class Body, class Value>
    struct BodyJob final : Job {
        explicit BodyJob(Body b) : body(std::move(b)) {}
        void run(Tx& tx) override {
            if constexpr (std::is_void_v<Value>) {
                body(tx);
            } else {
                value.emplace(body(tx));
            }
        }
        Body body;
        std::optional<std::conditional_t<std::is_void_v<Value>, char, Value>> value;
    };

    template <class Body>
    auto start(Body body, bool transaction) -> Task<std::invoke_result_t<Body&, Tx&>> {
        using Value = std::invoke_result_t<Body&, Tx&>;
        auto job = std::make_shared<BodyJob<Body, Value>>(std::move(body));
        job->transaction = transaction;
        co_await submit(job);
        if (job->failure) std::rethrow_exception(job->failure);
        if constexpr (!std::is_void_v<Value>) co_return std::move(*job->value);
    }

    Task<void> submit(std::shared_ptr<Job> job);

    struct Workers;
    asio::any_io_executor executor_;
    DatabaseSettings settings_;
    std::atomic<bool> reachable_{false};
    std::atomic<int> busy_{0};
    std::atomic<int> waiting_{0};
    std::unique_ptr<Workers> workers_;
};

}
