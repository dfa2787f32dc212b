#pragma once
// Why lanes waited: what each turn finds, as the few intervals that are to be written down. A gate that closes again
// and again is one run; one that changes in its numbers goes on. Pure: turns in, writes out.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/gate.h"
#include "domain/lane.h"
#include "domain/time.h"

namespace impresario::orchestrator {

/// A gate that is closed now, as the table says.
struct RecordedGate {
    domain::Lane lane;
    domain::Gate gate;
    /// When it closed last.
    domain::TimePoint since;
};

/// What is to be written of a gate: all of it, or what is new since the last time.
struct GateWrite {
    /// Which one, to the history.
    std::uint64_t id = 0;
    domain::Lane lane;
    /// As it was last seen.
    domain::Gate gate;
    std::vector<std::pair<std::string, std::string>> first_numbers;
    domain::TimePoint first;
    domain::TimePoint closed_since;
    domain::TimePoint seen_at;
    /// nullopt: it is closed now.
    std::optional<domain::TimePoint> until;
    /// Closings, turns that found it closed, and time closed in the closings that are over: not yet written.
    int times = 0;
    std::int64_t seen = 0;
    domain::Duration closed{};
    /// The lane's stream is to tell of it: that the lane is stopped, or has opened.
    bool stops = false;
    bool opens = false;
};

class GateHistory {
  public:
    /// A gate that is about quantity opens and closes with every end: it is shown as stopping its lane once it has
    /// lasted for `debounce`; before, it is only counted.
    explicit GateHistory(domain::Duration debounce) : debounce_(debounce) {}

    /// What the table says is closed: the run goes on, or ends with the next turn, whoever led before.
    void load(const std::vector<RecordedGate>& recorded);
    void clear();

    struct Passed {
        domain::Lane lane;
        domain::GateKind kind;
        domain::Duration length;
    };
    /// What a turn has found: of each lane with work the gate that stops it, or that none does. Returns how long which
    /// gates were closed since the turn before.
    std::vector<Passed> see(const std::map<domain::Lane, std::optional<domain::Gate>>& gates, domain::TimePoint now);

    /// What is to be written now, in this order. `written` must follow before the next.
    std::vector<GateWrite> due(domain::TimePoint now);
    /// Those of `lanes` are in the table now; the others are due again.
    void written(const std::vector<GateWrite>& writes, const std::set<domain::Lane>& lanes, domain::TimePoint now);

  private:
    struct Known {
        GateWrite gate;
        /// In the table, and as what.
        bool recorded = false;
        domain::Gate shown;
        domain::TimePoint shown_at;
        bool under_way = false;
    };
    /// Of each lane in the order of their closing; only the last may be closed now.
    using Closings = std::vector<Known>;

    static bool same(const domain::Gate& a, const domain::Gate& b) {
        return a.kind == b.kind && a.subject == b.subject;
    }
    static Known* closed_now(Closings& closings);
    static void end(Closings& closings, domain::TimePoint now);
    Known& begin(Closings& closings, const domain::Lane& lane, const domain::Gate& gate, domain::TimePoint now);
    bool to_be_shown(const Known& known, domain::TimePoint now) const;
    static bool worth_renewing(const Known& known, domain::TimePoint now);

    domain::Duration debounce_;
    std::map<domain::Lane, Closings> lanes_;
    std::uint64_t last_id_ = 0;
    std::optional<domain::TimePoint> seen_at_;
};

}
