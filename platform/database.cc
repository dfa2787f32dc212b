#include "platform/database.h"

#include <sys/socket.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "platform/log.h"
#include "platform/session.h"

namespace impresario::platform {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

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
