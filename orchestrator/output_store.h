#pragma once
// What an execution says while it runs: chunks of output and log lines, appended to its stream of events.

#include <optional>
#include <string>
#include <vector>

#include "domain/id.h"
#include "domain/time.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

/// Most that one execution may say.
inline constexpr int kMostOutput = 2000;

struct OutputEntry {
    /// event::output or event::log.
    std::string_view type;
    /// What its publisher calls it: the same twice is written once. Empty: it has no name.
    std::string event_id;
    /// Members of a JSON object, without its braces: what is said.
    std::string members;
};

struct OutputReply {
    enum class Outcome {
        written,
        /// There is none, or its attempt is not the one that runs.
        closed,
        /// It has said as much as it may.
        full
    };
    Outcome outcome = Outcome::written;
    int written = 0;
    /// Had been written before.
    int known = 0;
};

struct OutputEvent {
    int seq = 0;
    domain::TimePoint at;
    std::string payload;
};

/// Borrows a transaction. Stateless; any thread.
class OutputStore {
  public:
    /// All of them or, unless `written`, none. Throws StatementRefused (later) where somebody holds the execution.
    OutputReply append(platform::Tx& tx, const domain::ExecutionId& execution, const domain::AttemptId& attempt,
                       const std::vector<OutputEntry>& entries, const domain::NodeId& writer) const;
    std::vector<OutputEvent> read(platform::Tx& tx, const domain::ExecutionId& execution, std::string_view type,
                                  int after, int most) const;
};

}
