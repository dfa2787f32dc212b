#pragma once
// Whether the tables keep what is promised, and putting right what is safe to put right.
//
// A check is one statement: it sees one moment of the database, whatever hubs write meanwhile, and locks nothing. It
// reads whole tables, so it wants a session with patience. Borrows a transaction. Stateless; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/id.h"
#include "domain/lane.h"
#include "platform/sql.h"
#include "subworkflows/catalogue_store.h"

namespace impresario::orchestrator {

/// One promise, or a part of one.
struct Check {
    std::string_view name;
    std::string_view promise;
    /// What is so if it is kept.
    std::string_view says;
};

/// What breaks it.
struct Finding {
    /// Where it can be said; without a type: more than one lane of the organization, without both: no lane, or all.
    domain::Lane lane;
    /// "execution …", "budget …": what it is about.
    std::string subject;
    /// What is wrong, with the numbers.
    std::string what;
    bool repairable = false;
    /// What was done about it; empty: nothing.
    std::string done;
};

struct Checked {
    /// Of how many findings these are the first.
    std::int64_t found = 0;
    std::int64_t repaired = 0;
    std::vector<Finding> findings;
    /// The lanes that were stopped now.
    std::vector<domain::Lane> held;
};

class Fsck {
  public:
    static const std::vector<Check>& checks();
    /// nullptr: there is no such check.
    static const Check* find(std::string_view name);

    /// Writes nothing.
    Checked look(platform::Tx& tx, const Check& check) const;

    /// Who repairs, and what is stopped already.
    struct Hands {
        const subworkflows::CatalogueStore& store;
        const subworkflows::Catalogue& catalogue;
        domain::NodeId writer;
        std::string by;
    };
    /// Repairs what is safe to repair. A lane that has what is not is paused until somebody resumes it, with an event
    /// for those who look after it; what concerns no lane is told in the node's stream.
    Checked mend(platform::Tx& tx, const Check& check, const Hands& hands) const;
};

}
