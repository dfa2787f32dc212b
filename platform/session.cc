#include "platform/session.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <pqxx/pqxx>

#include "platform/rows.h"

namespace impresario::platform {

namespace {

/// States after which the connection is of no more use, or which say "not now" rather than "not this". What libpq says
/// itself has none, and it says so when the server has gone without a word: a crash.
bool means_unavailable(const std::string& state) {
    return state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "53300" ||
           state == "25006" || state == "25P03";
}

[[noreturn]] void refused(const std::string& what, const std::string& state) {
    if (means_unavailable(state)) throw DatabaseUnavailable(what);
    throw StatementRefused(what, state);
}

bool good(const PGresult* result) {
    const auto status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

[[noreturn]] void throw_error_of(const PGresult* result) {
    const auto field = [&](int code) {
        const char* text = PQresultErrorField(result, code);
        return std::string(text ? text : "");
    };
    const auto primary = field(PG_DIAG_MESSAGE_PRIMARY);
    // What libpq noticed by itself has no parts.
    if (primary.empty()) refused(PQresultErrorMessage(result), field(PG_DIAG_SQLSTATE));
    // Not its detail: that quotes rows, which are the business of whoever wrote them and not of a log.
    std::string text = field(PG_DIAG_SEVERITY) + ":  " + primary + "\n";
    if (const auto hint = field(PG_DIAG_MESSAGE_HINT); !hint.empty()) text += "HINT:  " + hint + "\n";
    refused(text, field(PG_DIAG_SQLSTATE));
}

/// libpqxx connects, listens and tells of notifications; its handle is what statements go through.
thread_local PGconn* opened = nullptr;
struct Opening final : pqxx::connect_direct {
    explicit Opening(const std::string& options) : connect_direct(options) {}
    handle do_startconnect(handle before) override {
        opened = connect_direct::do_startconnect(before);
        return opened;
    }
};

/// Parameters as libpq takes them. Borrows them.
struct Values {
    explicit Values(const Params& params) {
        const auto count = params.values().size();
        values.reserve(count);
        lengths.reserve(count);
        formats.reserve(count);
        for (const auto& [bytes, binary] : params.values()) {
            values.push_back(bytes ? bytes->c_str() : nullptr);
            lengths.push_back(bytes ? static_cast<int>(bytes->size()) : 0);
            formats.push_back(binary ? 1 : 0);
        }
    }
    int count() const { return static_cast<int>(values.size()); }
    std::vector<const char*> values;
    /// Of what is binary; a text ends where it says.
    std::vector<int> lengths;
    std::vector<int> formats;
};

}

void translated(const std::function<void()>& action) {
    try {
        action();
    } catch (const pqxx::broken_connection& e) {
        throw DatabaseUnavailable(e.what());
    } catch (const pqxx::sql_error& e) {
        refused(e.what(), e.sqlstate());
    } catch (const pqxx::failure& e) {
        throw DatabaseUnavailable(e.what());
    }
}

struct Session::Handle final : pqxx::basic_connection_base<Opening> {
    explicit Handle(const std::string& options) : basic_connection_base<Opening>(options), pg(opened) {}
    PGconn* pg;
};

struct Session::Asked::State {
    std::shared_ptr<const Rows::Impl> rows;
    std::chrono::steady_clock::time_point at;
};

Rows Session::Asked::rows() const {
    if (!state_->rows) session_->settle();
    if (!state_->rows) throw StatementRefused("it was not run: a statement before it was refused", "25P02");
    return Rows(state_->rows);
}

std::optional<std::chrono::steady_clock::time_point> Session::Asked::answered_at() const {
    return state_->rows ? std::optional(state_->at) : std::nullopt;
}

Session::Session(const std::string& connection_string, bool pooled) : pooled_(pooled) {
    translated([&] { handle_ = std::make_unique<Handle>(connection_string); });
}

Session::~Session() = default;

pqxx::connection_base& Session::pqxx() { return *handle_; }

int Session::socket() const { return PQsocket(handle_->pg); }

void Session::cut() { ::shutdown(socket(), SHUT_RDWR); }

void Session::unavailable() const { throw DatabaseUnavailable(PQerrorMessage(handle_->pg)); }

void Session::expect_alive() {
    auto* pg = handle_->pg;
    pollfd waiting{socket(), POLLIN, 0};
    // Whoever ends a session says why and closes it: each shows as something to read.
    while (PQstatus(pg) == CONNECTION_OK && ::poll(&waiting, 1, 0) > 0)
        if (PQconsumeInput(pg) == 0) throw StaleConnection(PQerrorMessage(pg));
    if (PQstatus(pg) != CONNECTION_OK || (waiting.revents & (POLLERR | POLLNVAL)) != 0)
        throw StaleConnection(PQerrorMessage(pg));
}

void Session::queued(int sent) {
    if (sent == 0) unavailable();
}

void Session::begin_queue() {
    if (PQpipelineStatus(handle_->pg) == PQ_PIPELINE_OFF) queued(PQenterPipelineMode(handle_->pg));
}

Session::Asked Session::expect() {
    auto state = std::make_shared<Asked::State>();
    expected_.push_back({state});
    return {*this, state};
}

/// The text's address, all of it, is the identity: two rooms may give their files the same name, and texts made at run
/// time on different threads lie the same way in memory areas of their own.
std::string Session::key(const Statement& statement) {
    return std::string(statement.name) + "_" + std::to_string(reinterpret_cast<std::uintptr_t>(statement.text.data()));
}

Session::Asked Session::ask(const Statement& statement, const Params& params) {
    if (pooled_) return ask(statement.text, params, statement.binary_result);
    auto* pg = handle_->pg;
    begin_queue();
    const std::string name = key(statement);
    if (prepared_.insert(statement.text.data()).second) {
        queued(PQsendPrepare(pg, name.c_str(), std::string(statement.text).c_str(), 0, nullptr));
        expected_.push_back({nullptr, statement.text.data()});
    }
    const Values values(params);
    queued(PQsendQueryPrepared(pg, name.c_str(), values.count(), values.values.data(), values.lengths.data(),
                               values.formats.data(), statement.binary_result ? 1 : 0));
    return expect();
}

Session::Asked Session::ask(std::string_view sql, const Params& params, bool binary_result) {
    const Values values(params);
    auto* pg = handle_->pg;
    if (pooled_) {
        auto state = std::make_shared<Asked::State>();
        state->rows = std::make_shared<const Rows::Impl>(
            PQexecParams(pg, std::string(sql).c_str(), values.count(), nullptr, values.values.data(),
                         values.lengths.data(), values.formats.data(), binary_result ? 1 : 0));
        state->at = std::chrono::steady_clock::now();
        if (!good(state->rows->get())) throw_error_of(state->rows->get());
        return {*this, state};
    }
    begin_queue();
    queued(PQsendQueryParams(pg, std::string(sql).c_str(), values.count(), nullptr, values.values.data(),
                             values.lengths.data(), values.formats.data(), binary_result ? 1 : 0));
    return expect();
}

Rows Session::run(std::string_view sql) {
    settle();
    auto* pg = handle_->pg;
    if (PQpipelineStatus(pg) != PQ_PIPELINE_OFF) queued(PQexitPipelineMode(pg));
    auto rows = std::make_shared<const Rows::Impl>(PQexec(pg, std::string(sql).c_str()));
    if (!good(rows->get())) throw_error_of(rows->get());
    return Rows(std::move(rows));
}

void Session::settle() {
    refused_before_last_ = false;
    if (expected_.empty()) return;
    auto* pg = handle_->pg;
    const auto expected = std::exchange(expected_, {});
    queued(PQpipelineSync(pg));
    std::shared_ptr<const Rows::Impl> error;
    for (const auto& each : expected) {
        PGresult* result = PQgetResult(pg);
        if (!result) unavailable();
        const auto rows = std::make_shared<const Rows::Impl>(result);
        if (good(result)) {
            if (each.answer) {
                each.answer->rows = rows;
                each.answer->at = std::chrono::steady_clock::now();
            }
        } else {
            if (each.prepared) prepared_.erase(each.prepared);
            if (PQresultStatus(result) != PGRES_PIPELINE_ABORTED && !error) {
                error = rows;
                refused_before_last_ = &each != &expected.back() && PQresultErrorField(result, PG_DIAG_SQLSTATE);
            }
            // Nothing more will come.
            if (PQstatus(pg) != CONNECTION_OK) throw_error_of(error ? error->get() : result);
        }
        while (PGresult* more = PQgetResult(pg)) PQclear(more);
    }
    PGresult* sync = PQgetResult(pg);
    const bool synced = sync && PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
    PQclear(sync);
    if (error) throw_error_of(error->get());
    if (!synced) unavailable();
}

void Session::abandon() noexcept {
    try {
        settle();
    } catch (const std::exception&) {
        // Whoever asked has left.
    }
}

void Session::roll_back() noexcept {
    abandon();
    try {
        if (PQstatus(handle_->pg) == CONNECTION_OK) run("ROLLBACK");
    } catch (const std::exception&) {
        // Gone, and the transaction with it.
    }
}

}
