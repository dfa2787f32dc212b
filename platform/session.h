#pragma once
// One session with the server. Statements are queued and go out together; answers come back in order (libpq's pipeline
// mode, which libpqxx does not have). Inside of platform only; one thread.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "platform/sql.h"

namespace pqxx {
class connection_base;
}

namespace impresario::platform {

/// The session had ended while nobody used it (a restart of the server, most often): what was asked has not begun.
struct StaleConnection : DatabaseUnavailable {
    using DatabaseUnavailable::DatabaseUnavailable;
};

/// Translates libpqxx's exceptions into ours while `action` runs.
void translated(const std::function<void()>& action);

class Session {
  public:
    /// Connects; throws DatabaseUnavailable. `pooled`: a pooler in transaction mode lies between, so nothing is
    /// prepared and nothing is queued.
    Session(const std::string& connection_string, bool pooled);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Throws StaleConnection where the other side is known to have gone. Asks nobody.
    void expect_alive();

    /// What was asked and may not have been answered yet.
    class Asked {
      public:
        /// Waits for everything that is queued. Throws as `settle` does.
        Rows rows() const;
        /// When the answer came, if it has.
        std::optional<std::chrono::steady_clock::time_point> answered_at() const;

      private:
        friend class Session;
        struct State;
        Asked(Session& session, std::shared_ptr<State> state) : session_(&session), state_(std::move(state)) {}
        Session* session_;
        std::shared_ptr<State> state_;
    };
    Asked ask(const Statement& statement, const Params& params = {});
    Asked ask(std::string_view sql, const Params& params, bool binary_result = false);
    /// Several statements in one text, at once.
    Rows run(std::string_view sql);

    /// Sends what is queued and reads all the answers. Throws StatementRefused for the first that was refused (those
    /// behind it were not run), DatabaseUnavailable when the connection broke before that was heard.
    void settle();
    /// Whether the server has refused a statement other than the last of those that were settled: so the last was not
    /// run.
    bool refused_before_last() const { return refused_before_last_; }
    /// Settles for somebody who does not want to know any more.
    void abandon() noexcept;
    /// Ends a transaction that has failed, whatever is queued. Nothing where the connection has gone: then it has too.
    void roll_back() noexcept;
    /// Cuts the connection below libpq, as a fault would.
    void cut();

    int socket() const;
    pqxx::connection_base& pqxx();

  private:
    /// One answer that is to come, in the order of asking.
    struct Expected {
        /// Null: of a PREPARE.
        std::shared_ptr<Asked::State> answer;
        const char* prepared = nullptr;
    };
    static std::string key(const Statement& statement);
    void begin_queue();
    Asked expect();
    void queued(int sent);
    [[noreturn]] void unavailable() const;

    bool pooled_;
    bool refused_before_last_ = false;
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::unordered_set<const char*> prepared_;
    std::vector<Expected> expected_;
};

}
