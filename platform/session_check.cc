#include "platform/session_check.h"

namespace impresario::platform {

namespace {
/// A busy pooler may by chance give the same session twice.
constexpr int kRounds = 3;

/// The database, and when its server was started.
std::string identity(const DatabaseSettings& settings) {
    std::string found;
    Connection(settings, nullptr).transact([&](Tx& tx) {
        const auto rows = tx.run("select current_database() || ' since ' || pg_postmaster_start_time()");
        found = RowReader(rows, 0).text();
    });
    return found;
}

template <class Check>
Task<bool> on_database_thread(asio::any_io_executor executor, DatabaseSettings settings, Check check) {
    settings.pooled = true;
    settings.connections = 1;
    Database database(executor, settings, nullptr);
    auto asking = database.read([check](Tx&) { return check(); });
    const bool answer = co_await std::move(asking);
    co_return answer;
}

}

bool shares_sessions(DatabaseSettings settings) {
    // Nothing is set and nothing prepared: whatever is found, no session is left other than it was.
    settings.pooled = true;
    try {
        Connection one(settings, nullptr);
        Connection other(settings, nullptr);
        for (int round = 0; round < kRounds; ++round) {
            const int before = one.backend_pid();
            bool shared = false;
            other.transact([&](Tx& tx) {
                const auto rows = tx.run("select pg_backend_pid()");
                // While the other holds one: a session that is given back is the first to be given out.
                shared = RowReader(rows, 0).small() == before || one.backend_pid() != before;
            });
            if (shared) return true;
        }
        return false;
    } catch (const DatabaseUnavailable& e) {
        // Statement mode refuses every transaction, in words that PgBouncer has had from the beginning.
        if (std::string(e.what()).find("statement pooling") != std::string::npos) return true;
        throw;
    }
}

Task<bool> shares_sessions(asio::any_io_executor executor, DatabaseSettings settings) {
    return on_database_thread(executor, settings, [settings] { return shares_sessions(settings); });
}

Task<bool> same_database(asio::any_io_executor executor, DatabaseSettings one, DatabaseSettings other) {
    one.pooled = other.pooled = true;
    return on_database_thread(executor, one, [one, other] {
        const auto before = identity(one);
        const auto there = identity(other);
        if (identity(one) != before) throw DatabaseUnavailable("the server was restarted while it was asked");
        return there == before;
    });
}

}
