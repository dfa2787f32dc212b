#include "platform/database.h"

#include <sys/socket.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pqxx/pqxx>
#include <thread>
#include <unordered_set>

#include "platform/failpoint.h"
#include "platform/log.h"

namespace impresario::platform {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Rows::Impl {
  public:
    pqxx::result result;
};

std::size_t Rows::size() const { return impl_->result.size(); }
std::size_t Rows::columns() const { return impl_->result.columns(); }
std::string_view Rows::column_name(std::size_t column) const {
    return impl_->result.column_name(static_cast<pqxx::row::size_type>(column));
}
std::size_t Rows::affected() const { return impl_->result.affected_rows(); }
bool Rows::null(std::size_t row, std::size_t column) const {
    return impl_->result[static_cast<pqxx::result::size_type>(row)][static_cast<pqxx::row::size_type>(column)]
        .is_null();
}
std::string_view Rows::text(std::size_t row, std::size_t column) const {
    const auto field =
        impl_->result[static_cast<pqxx::result::size_type>(row)][static_cast<pqxx::row::size_type>(column)];
    return {field.c_str(), field.size()};
}

namespace {

/// States after which the connection is of no more use, or which say "not now" rather than "not this". What libpq says
/// itself has none, and it says so when the server has gone without a word: a crash.
bool means_unavailable(const std::string& state) {
    return state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "53300" ||
           state == "25006" || state == "25P03";
}

std::string connection_string(const DatabaseSettings& settings) {
    // A pooler refuses start-up options it does not know, so there everything is set in each transaction.
    std::string text = settings.url.reveal();
    const bool url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    const auto add = [&](std::string_view key, std::string_view value) {
        if (url) {
            text += text.find('?') == std::string::npos ? '?' : '&';
            text += std::string(key) + "=" + std::string(value);
        } else {
            text += " " + std::string(key) + "='" + std::string(value) + "'";
        }
    };
    const auto has = [&](std::string_view key) { return text.find(std::string(key) + "=") != std::string::npos; };
    if (!has("connect_timeout")) add("connect_timeout", "3");
    if (!has("tcp_user_timeout")) add("tcp_user_timeout", "8000");
    if (!has("keepalives_idle")) {
        add("keepalives_idle", "5");
        add("keepalives_interval", "2");
        add("keepalives_count", "2");
    }
    if (!has("application_name")) add("application_name", settings.application_name);
    return text;
}

/// Plans: every statement of ours finds its rows by an index, whatever they are. Planned for each set of parameters,
/// one that changes a single row spends more time on planning than on the row; and a table that is still small, or was
/// when it was last analyzed, would be read whole by a plan that is kept until it is large.
std::string session_settings(const DatabaseSettings& settings, std::string_view scope) {
    const std::string set = "SET " + std::string(scope);
    return set + "statement_timeout = " + std::to_string(settings.statement_timeout.count()) + "; " + set +
           "idle_in_transaction_session_timeout = 5000; " + set + "lock_timeout = 4000; " + set + "timezone = 'UTC'; " +
           set + "datestyle = 'ISO'; " + set + "bytea_output = 'hex'; " + set + "jit = off; " + set +
           "plan_cache_mode = force_generic_plan; " + set + "enable_seqscan = off";
}

}

namespace {

void planted_at_connecting() {
    const auto fault = failpoint::at("sql.", "connect");
    if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
    if (fault.error || fault.done_then_error) throw pqxx::broken_connection("a fault is planted at connecting");
}

/// What reaches for the server, with the fault planted at its place: its socket is cut before it or after it, so that
/// libpq finds out as it would by itself.
template <class Action>
auto reaching(pqxx::connection& pq, std::string_view kind, std::string_view name, Action action) {
    const auto fault = failpoint::at(kind, name);
    if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
    if (fault.error) ::shutdown(pq.sock(), SHUT_RDWR);
    auto result = action();
    if (fault.done_then_error) {
        ::shutdown(pq.sock(), SHUT_RDWR);
        throw pqxx::broken_connection("a fault is planted: it was done");
    }
    return result;
}

}

struct Connection::Impl {
    explicit Impl(const DatabaseSettings& s) : settings(s), pq((planted_at_connecting(), connection_string(s))) {}

    DatabaseSettings settings;
    pqxx::connection pq;
    std::unordered_set<const char*> prepared;
    std::string begin;
    DatabaseClock* clock = nullptr;
    std::vector<std::unique_ptr<pqxx::notification_receiver>> receivers;

    Rows rows(pqxx::result result) {
        auto impl = std::make_shared<Rows::Impl>();
        impl->result = std::move(result);
        return Rows(std::move(impl));
    }
};

namespace {

/// Runs statements on a connection; the transaction around them is begun and ended by text, so that the beginning
/// takes one round trip with the settings and the clock's reading in it.
template <class Impl>
class ConnectionTx final : public Tx {
  public:
    ConnectionTx(Impl& impl, pqxx::nontransaction& work) : impl_(impl), work_(work) {}

    Rows exec(const Statement& statement, const Params& params) override {
        latest_ = statement.name;
        return reaching(impl_.pq, "sql.", statement.name, [&] { return execute_planned(statement, params); });
    }

    Rows run(std::string_view sql, const Params& params) override {
        latest_ = "text";
        return reaching(impl_.pq, "sql.", "text", [&] { return execute(sql, params); });
    }

    /// The name of the latest statement.
    std::string_view latest() const { return latest_; }

  private:
    void plan(const char* mode, const char* seqscan) {
        const std::string set = impl_.settings.pooled ? "SET LOCAL " : "SET ";
        work_.exec(set + "plan_cache_mode = " + mode + "; " + set + "enable_seqscan = " + seqscan);
    }

    Rows execute_planned(const Statement& statement, const Params& params) {
        if (!statement.planned_each_time) return execute(statement, params);
        // Where this throws inside a transaction, its rollback takes the setting back as well.
        plan("force_custom_plan", "on");
        try {
            Rows found = execute(statement, params);
            plan("force_generic_plan", "off");
            return found;
        } catch (...) {
            try {
                plan("force_generic_plan", "off");
            } catch (const std::exception&) {  // an aborted transaction, or no connection any more
            }
            throw;
        }
    }

    Rows execute(const Statement& statement, const Params& params) {
        std::vector<const char*> values = pointers(params);
        if (impl_.settings.pooled)
            return impl_.rows(
                work_.exec_params(std::string(statement.text), pqxx::prepare::make_dynamic_params(values)));
        const std::string name(statement.name);
        // The text's address, all of it, is the identity: two rooms may give their files the same name, and texts made
        // at run time on different threads lie the same way in memory areas of their own.
        const std::string key = name + "_" + std::to_string(reinterpret_cast<std::uintptr_t>(statement.text.data()));
        if (impl_.prepared.insert(statement.text.data()).second) {
            try {
                impl_.pq.prepare(key, std::string(statement.text));
            } catch (...) {
                impl_.prepared.erase(statement.text.data());
                throw;
            }
        }
        return impl_.rows(work_.exec_prepared(key, pqxx::prepare::make_dynamic_params(values)));
    }

    Rows execute(std::string_view sql, const Params& params) {
        if (params.values().empty()) return impl_.rows(work_.exec(std::string(sql)));
        std::vector<const char*> values = pointers(params);
        return impl_.rows(work_.exec_params(std::string(sql), pqxx::prepare::make_dynamic_params(values)));
    }

    static std::vector<const char*> pointers(const Params& params) {
        std::vector<const char*> values;
        values.reserve(params.values().size());
        for (const auto& value : params.values()) values.push_back(value ? value->c_str() : nullptr);
        return values;
    }

    Impl& impl_;
    pqxx::nontransaction& work_;
    std::string_view latest_ = "nothing";
};

/// The session had ended while nobody used it (a restart of the server, most often): its transaction has not begun.
struct StaleConnection : DatabaseUnavailable {
    using DatabaseUnavailable::DatabaseUnavailable;
};

/// Translates libpqxx's exceptions into ours while `action` runs.
template <class Action>
void translated(Action action) {
    try {
        action();
    } catch (const pqxx::broken_connection& e) {
        throw DatabaseUnavailable(e.what());
    } catch (const pqxx::sql_error& e) {
        if (means_unavailable(e.sqlstate())) throw DatabaseUnavailable(e.what());
        throw StatementRefused(e.what(), e.sqlstate());
    } catch (const pqxx::failure& e) {
        throw DatabaseUnavailable(e.what());
    }
}

}

Connection::Connection(const DatabaseSettings& settings, DatabaseClock* clock) {
    translated([&] {
        impl_ = std::make_unique<Impl>(settings);
        impl_->clock = clock;
        impl_->begin = "BEGIN; ";
        if (settings.pooled) {
            impl_->begin += session_settings(settings, "LOCAL ") + "; ";
        } else {
            pqxx::nontransaction work(impl_->pq);
            work.exec(session_settings(settings, ""));
        }
        impl_->begin += "SELECT now()";
    });
}

Connection::~Connection() = default;

int Connection::backend_pid() {
    // Asked, because a pooler tells libpq a number of its own.
    int pid = 0;
    autocommit([&](Tx& tx) {
        const auto rows = tx.run("select pg_backend_pid()");
        pid = RowReader(rows, 0).small();
    });
    return pid;
}
int Connection::socket() const { return impl_->pq.sock(); }

void Connection::transact(const std::function<void(Tx&)>& body) {
    for (int again = 0;; ++again) {
        try {
            bool committing = false;
            try {
                translated([&] {
                    pqxx::nontransaction work(impl_->pq);
                    const auto asked = steady_clock::now();
                    pqxx::result begun;
                    try {
                        begun = reaching(impl_->pq, "sql.", "begin", [&] { return work.exec(impl_->begin); });
                    } catch (const pqxx::broken_connection& e) {
                        throw StaleConnection(e.what());
                    } catch (const pqxx::sql_error& e) {
                        if (means_unavailable(e.sqlstate())) throw StaleConnection(e.what());
                        throw;
                    }
                    if (impl_->clock)
                        if (const auto now = domain::parse_time(begun.at(0).at(0).c_str()))
                            impl_->clock->learn(*now, asked, steady_clock::now());
                    ConnectionTx<Impl> tx(*impl_, work);
                    try {
                        body(tx);
                    } catch (...) {
                        // Where the connection is gone the transaction is; libpqxx would begin a new session for it.
                        try {
                            if (impl_->pq.is_open()) work.exec("ROLLBACK");
                        } catch (const std::exception&) {
                        }
                        throw;
                    }
                    committing = true;
                    reaching(impl_->pq, "sql.commit.", tx.latest(), [&] { return work.exec("COMMIT"); });
                });
            } catch (const DatabaseUnavailable& e) {
                if (committing) throw DatabaseInDoubt(e.what());
                throw;
            }
            return;
        } catch (const StatementRefused& e) {
            if (!e.transient() || again >= 3) throw;
        }
    }
}

void Connection::autocommit(const std::function<void(Tx&)>& body) {
    if (impl_->settings.pooled) {
        // Settings that are made in each transaction need one, and a transaction needs to stay in one session.
        try {
            return transact(body);
        } catch (const DatabaseInDoubt& e) {
            throw DatabaseUnavailable(e.what());
        }
    }
    translated([&] {
        pqxx::nontransaction work(impl_->pq);
        ConnectionTx<Impl> tx(*impl_, work);
        body(tx);
    });
}

namespace {
class Receiver final : public pqxx::notification_receiver {
  public:
    Receiver(pqxx::connection_base& connection, const std::string& channel,
             std::function<void(const std::string&)> received)
        : pqxx::notification_receiver(connection, channel), received_(std::move(received)) {}
    void operator()(const std::string& payload, int) override { received_(payload); }

  private:
    std::function<void(const std::string&)> received_;
};
}

void Connection::listen(const std::string& channel, std::function<void(const std::string&)> received) {
    translated(
        [&] { impl_->receivers.push_back(std::make_unique<Receiver>(impl_->pq, channel, std::move(received))); });
}

void Connection::wait_for_notifications(milliseconds longest) {
    translated([&] {
        impl_->pq.await_notification(static_cast<long>(longest.count() / 1000),
                                     static_cast<long>(longest.count() % 1000 * 1000));
    });
}

/// Threads, their queue, and the watch that frees a thread from a database that has gone silent.
struct Database::Workers {
    struct Entry {
        std::shared_ptr<Job> job;
        std::function<void()> done;
        steady_clock::time_point since;
    };
    struct Seat {
        std::mutex mutex;
        int socket = -1;
        std::optional<steady_clock::time_point> busy_since;
        bool cut = false;
    };

    explicit Workers(Database& owner, DatabaseClock* c) : database(owner), clock(c) {
        for (int i = 0; i < owner.settings_.connections; ++i) seats.push_back(std::make_unique<Seat>());
        for (auto& seat : seats) threads.emplace_back([this, s = seat.get()] { work(*s); });
        watch = std::thread([this] { watch_over(); });
    }

    ~Workers() {
        {
            std::lock_guard lock(mutex);
            stopping = true;
        }
        wake.notify_all();
        watch_wake.notify_all();
        for (auto& thread : threads) thread.join();
        watch.join();
    }

    void refuse(Entry& entry, const char* why) {
        entry.job->failure = std::make_exception_ptr(DatabaseUnavailable(why));
        entry.done();
    }

    void work(Seat& seat) {
        std::unique_ptr<Connection> connection;
        steady_clock::time_point next_try{};
        for (;;) {
            Entry entry;
            {
                std::unique_lock lock(mutex);
                wake.wait(lock, [&] { return stopping || !queue.empty(); });
                if (queue.empty()) return;
                entry = std::move(queue.front());
                queue.pop_front();
                database.waiting_.store(static_cast<int>(queue.size()));
            }
            ++database.busy_;
            // Another seat has reached it meanwhile: then there is no reason to wait.
            if (!connection && (database.reachable_.load() || steady_clock::now() >= next_try))
                connect(seat, connection, next_try);
            if (!connection) {
                refuse(entry, "the database cannot be reached");
                --database.busy_;
                continue;
            }
            begin(seat, connection->socket());
            bool good = true;
            const auto run = [&] {
                const auto body = [&](Tx& tx) { entry.job->run(tx); };
                if (entry.job->transaction) {
                    connection->transact(body);
                } else {
                    connection->autocommit(body);
                }
            };
            const auto run_in_new_session = [&] {
                end(seat);
                connect(seat, connection, next_try);
                if (!connection) throw DatabaseUnavailable("the database cannot be reached");
                begin(seat, connection->socket());
                run();
            };
            try {
                try {
                    run();
                } catch (const StaleConnection&) {
                    // Where the watch cut a silent one, the next would be as silent, and somebody waits.
                    if (is_cut(seat)) throw;
                    run_in_new_session();
                } catch (const StatementRefused& e) {
                    // A migration changed what a prepared statement returns: only a new session forgets the old plan.
                    if (!e.stale_plan()) throw;
                    run_in_new_session();
                }
            } catch (const DatabaseUnavailable& e) {
                entry.job->failure = std::current_exception();
                good = false;
                note_unreachable(e.what());
            } catch (const DatabaseInDoubt& e) {
                entry.job->failure = std::current_exception();
                good = false;
                note_unreachable(e.what());
            } catch (const StatementRefused& e) {
                entry.job->failure = std::current_exception();
                good = !e.stale_plan();
            } catch (...) {
                entry.job->failure = std::current_exception();
            }
            const bool was_cut = end(seat);
            if (!good || was_cut) {
                connection.reset();
            } else if (!database.reachable_.exchange(true)) {
                log::info("database reached");
            }
            --database.busy_;
            entry.done();
        }
    }

    void connect(Seat& seat, std::unique_ptr<Connection>& connection, steady_clock::time_point& next_try) {
        connection.reset();
        begin(seat, -1);
        try {
            connection = std::make_unique<Connection>(database.settings_, clock);
        } catch (const std::exception& e) {
            next_try = steady_clock::now() + milliseconds{250};
            note_unreachable(e.what());
        }
        end(seat);
    }

    void begin(Seat& seat, int socket) {
        std::lock_guard lock(seat.mutex);
        seat.socket = socket;
        seat.cut = false;
        seat.busy_since = steady_clock::now();
    }
    static bool is_cut(Seat& seat) {
        std::lock_guard lock(seat.mutex);
        return seat.cut;
    }
    bool end(Seat& seat) {
        std::lock_guard lock(seat.mutex);
        seat.socket = -1;
        seat.busy_since.reset();
        return seat.cut;
    }

    void note_unreachable(const char* what) {
        database.reachable_.store(false);
        std::lock_guard lock(note_mutex);
        const auto now = steady_clock::now();
        if (now - last_note < std::chrono::seconds{1}) return;
        last_note = now;
        std::string line(what);
        while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
        log::warn("database not reachable",
                  {{"error", line}, {"next", "trying again; is it running, is the URL right?"}});
    }

    /// A backend that accepts bytes and never answers holds a thread for ever; cutting the socket gives it back.
    void watch_over() {
        const auto limit = database.settings_.statement_timeout + milliseconds{3000};
        std::unique_lock lock(mutex);
        while (!stopping) {
            watch_wake.wait_for(lock, milliseconds{500});
            const auto now = steady_clock::now();
            std::vector<Entry> late;
            while (!queue.empty() && now - queue.front().since > database.settings_.queue_limit) {
                late.push_back(std::move(queue.front()));
                queue.pop_front();
            }
            database.waiting_.store(static_cast<int>(queue.size()));
            lock.unlock();
            for (auto& entry : late) refuse(entry, "the database did not come to this in time");
            for (auto& seat : seats) {
                std::lock_guard seat_lock(seat->mutex);
                if (seat->socket < 0 || !seat->busy_since || now - *seat->busy_since < limit || seat->cut) continue;
                seat->cut = true;
                ::shutdown(seat->socket, SHUT_RDWR);
            }
            lock.lock();
        }
    }

    Database& database;
    DatabaseClock* clock;
    std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable watch_wake;
    std::deque<Entry> queue;
    bool stopping = false;
    std::vector<std::unique_ptr<Seat>> seats;
    std::vector<std::thread> threads;
    std::thread watch;
    std::mutex note_mutex;
    steady_clock::time_point last_note{};
};

Database::Database(asio::any_io_executor executor, DatabaseSettings settings, DatabaseClock* clock)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      workers_(std::make_unique<Workers>(*this, clock)) {}

Database::~Database() = default;

Task<void> Database::submit(std::shared_ptr<Job> job) {
    auto running = asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
        [this](auto handler, std::shared_ptr<Job> work) {
            auto kept = std::make_shared<decltype(handler)>(std::move(handler));
            Workers::Entry entry;
            entry.job = std::move(work);
            entry.since = steady_clock::now();
            entry.done = [executor = executor_, kept] { asio::post(executor, [kept] { (*kept)(); }); };
            {
                std::lock_guard lock(workers_->mutex);
                workers_->queue.push_back(std::move(entry));
                waiting_.store(static_cast<int>(workers_->queue.size()));
            }
            workers_->wake.notify_one();
        },
        asio::use_awaitable, std::move(job));
    co_await std::move(running);
}

}
