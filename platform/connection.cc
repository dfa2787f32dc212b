#include <libpq-fe.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <pqxx/pqxx>
#include <thread>

#include "platform/database.h"
#include "platform/failpoint.h"
#include "platform/redact.h"
#include "platform/session.h"
#include "platform/url.h"

namespace impresario::platform {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

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

void planted_at_connecting() {
    const auto fault = failpoint::at("sql.", "connect");
    if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
    if (fault.error || fault.done_then_error) throw DatabaseUnavailable("a fault is planted at connecting");
}

/// What reaches for the server, with the fault planted at its place: its socket is cut before it or after it, so that
/// libpq finds out as it would by itself.
template <class Action>
auto reaching(Session& session, std::string_view kind, std::string_view name, Action action) {
    const auto fault = failpoint::at(kind, name);
    if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
    if (fault.error) session.cut();
    auto result = action();
    if (fault.error || fault.done_then_error) session.settle();
    if (fault.done_then_stop) ::raise(SIGSTOP);
    if (fault.done_then_error) {
        session.cut();
        throw DatabaseUnavailable("a fault is planted: it was done");
    }
    return result;
}

constexpr Statement kBegin{"begin", "BEGIN"};
constexpr Statement kNow{"now", "SELECT now()"};
constexpr Statement kCommit{"commit", "COMMIT"};

/// Its password, however much of the rest libpq takes for it: an @ or a / in a password that is not escaped moves the
/// borders.
std::vector<domain::Secret> secrets_of_database_url(const domain::Secret& url) {
    std::vector<domain::Secret> all{url};
    const auto& text = url.reveal();
    const auto user = text.find("://") == std::string::npos ? std::string::npos : text.find("://") + 3;
    const auto host = text.rfind('@');
    if (user != std::string::npos && host != std::string::npos && user < host) {
        const auto who = text.substr(user, host - user);
        for (auto at = who.find(':'); at != std::string::npos; at = who.find_first_of(":/@?#", at + 1))
            all.emplace_back(percent_decode(who.substr(at + 1)));
        if (const auto at = who.find(':'); at != std::string::npos) {
            // And each piece between two such characters.
            for (auto begin = at + 1; begin < who.size();) {
                const auto end = std::min(who.find_first_of(":/@?#", begin), who.size());
                all.emplace_back(percent_decode(who.substr(begin, end - begin)));
                begin = end + 1;
            }
        }
    }
    std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(text.c_str(), nullptr),
                                                                        &PQconninfoFree);
    for (const auto* option = parsed.get(); option && option->keyword; ++option)
        if (option->val && std::string_view(option->dispchar) == "*") all.emplace_back(option->val);
    return all;
}

Session connected(const DatabaseSettings& settings) {
    planted_at_connecting();
    const auto text = connection_string(settings);
    // What libpq says about an address that it cannot read quotes it, from any place on.
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(text.c_str(), nullptr),
                                                                              &PQconninfoFree);
    if (!parsed)
        throw DatabaseUnavailable(
            "the database URL cannot be read; it must be postgresql://user:password@host/name, with what is special in "
            "them percent-encoded, or key=value pairs with quotes around values");
    try {
        return Session(text, settings.pooled);
    } catch (const DatabaseUnavailable& e) {
        throw DatabaseUnavailable(redacted(e.what(), secrets_of_database_url(settings.url)));
    } catch (const StatementRefused& e) {
        throw StatementRefused(redacted(e.what(), secrets_of_database_url(settings.url)), e.sqlstate);
    }
}

}

struct Connection::Impl {
    explicit Impl(const DatabaseSettings& s) : settings(s), session(connected(s)) {}

    DatabaseSettings settings;
    Session session;
    DatabaseClock* clock = nullptr;
    std::vector<std::unique_ptr<pqxx::notification_receiver>> receivers;

    /// Behind a pooler the settings go with it, because the next transaction may be in another session.
    Session::Asked begin() {
        if (!settings.pooled) {
            session.ask(kBegin);
            return session.ask(kNow);
        }
        session.run("BEGIN; " + session_settings(settings, "LOCAL "));
        return session.ask(kNow);
    }
};

namespace {

/// Runs statements on a session; who made it begins and ends the transaction.
template <class Impl>
class SessionTx final : public Tx {
  public:
    explicit SessionTx(Impl& impl) : impl_(impl), session_(impl.session) {}

    Rows exec(const Statement& statement, const Params& params) override {
        if (!statement.planned_each_time) return ask(statement, params)();
        // Where this throws inside a transaction, its rollback takes the setting back as well.
        plan("force_custom_plan", "on");
        try {
            Rows found = ask(statement, params)();
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

    std::function<Rows()> ask(const Statement& statement, const Params& params) override {
        latest_ = statement.name;
        const auto asked = reaching(session_, "sql.", statement.name, [&] { return session_.ask(statement, params); });
        return [asked] { return asked.rows(); };
    }

    Rows run(std::string_view sql, const Params& params) override {
        latest_ = "text";
        return reaching(session_, "sql.", "text",
                        [&] { return params.values().empty() ? session_.run(sql) : session_.ask(sql, params).rows(); });
    }

    /// The name of the latest statement.
    std::string_view latest() const { return latest_; }

  private:
    void plan(const char* mode, const char* seqscan) {
        const std::string set = impl_.settings.pooled ? "SET LOCAL " : "SET ";
        session_.run(set + "plan_cache_mode = " + mode + "; " + set + "enable_seqscan = " + seqscan);
    }

    Impl& impl_;
    Session& session_;
    std::string_view latest_ = "nothing";
};

}

Connection::Connection(const DatabaseSettings& settings, DatabaseClock* clock)
    : impl_(std::make_unique<Impl>(settings)) {
    impl_->clock = clock;
    if (!settings.pooled) impl_->session.run(session_settings(settings, ""));
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
int Connection::socket() const { return impl_->session.socket(); }

void Connection::transact(const std::function<void(Tx&)>& body) {
    Session& session = impl_->session;
    for (int again = 0;; ++again) {
        try {
            session.expect_alive();
            const auto asked = steady_clock::now();
            const auto now = [&] {
                try {
                    return reaching(session, "sql.", "begin", [&] { return impl_->begin(); });
                } catch (const DatabaseUnavailable& e) {
                    throw StaleConnection(e.what());
                }
            }();
            const auto learn = [&] {
                if (!impl_->clock || !now.answered_at()) return;
                const auto reading = domain::parse_time(now.rows().text(0, 0));
                if (reading) impl_->clock->learn(*reading, asked, *now.answered_at());
            };
            SessionTx<Impl> tx(*impl_);
            try {
                body(tx);
            } catch (...) {
                session.roll_back();
                learn();
                throw;
            }
            try {
                reaching(session, "sql.commit.", tx.latest(), [&] { return session.ask(kCommit).rows(); });
            } catch (const DatabaseUnavailable& e) {
                if (session.refused_before_last()) throw;
                throw DatabaseInDoubt(e.what());
            } catch (const StatementRefused&) {
                session.roll_back();
                throw;
            }
            learn();
            return;
        } catch (const StatementRefused& e) {
            if (!e.transient() || again >= 3) throw;
        } catch (const TryAgain&) {
            if (again >= 3) throw;
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
    impl_->session.expect_alive();
    SessionTx<Impl> tx(*impl_);
    try {
        body(tx);
        impl_->session.settle();
    } catch (...) {
        impl_->session.abandon();
        throw;
    }
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
    translated([&] {
        impl_->receivers.push_back(std::make_unique<Receiver>(impl_->session.pqxx(), channel, std::move(received)));
    });
}

void Connection::wait_for_notifications(milliseconds longest) {
    translated([&] {
        impl_->session.pqxx().await_notification(static_cast<long>(longest.count() / 1000),
                                                 static_cast<long>(longest.count() % 1000 * 1000));
    });
}

}
