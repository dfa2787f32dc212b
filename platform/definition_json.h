#pragma once
// Reads a JSON object that somebody wrote, member by member, and notes everything that is wrong with it.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "domain/definition_fault.h"
#include "domain/money.h"
#include "domain/time.h"

namespace impresario::platform {

/// The object that somebody wrote. What keeps its text from being one is noted, and the tree is of no use then: where
/// it is no JSON, what PostgreSQL or a double cannot hold, each member that is there twice.
nlohmann::json definition_tree(std::string_view text, domain::DefinitionFaults& faults);

/// A whole number that fits an `integer` column; nullopt for what is none or lies far outside.
std::optional<int> whole_number(const nlohmann::json& value);

/// From the digits as they came in `body`, at a JSON pointer: the tree holds numbers as double. nullopt: null, not
/// there, or wrong, which is noted.
std::optional<domain::MicroUsd> money_at(std::string_view body, const std::string& pointer,
                                         domain::DefinitionFaults& faults);

/// Borrows the object and the list of faults. A member that is not there leaves what is asked for as it was.
class DefinitionReader {
  public:
    DefinitionReader(const nlohmann::json& object, std::string at, domain::DefinitionFaults& faults)
        : object_(object), at_(std::move(at)), faults_(faults) {}

    const nlohmann::json* find(const char* name);
    bool has(const char* name) { return find(name) != nullptr; }
    std::string at(const char* name) const { return at_ + "/" + name; }
    void wrong(const char* name, std::string what) { faults_.push_back({at(name), std::move(what)}); }

    /// null is "".
    void text(const char* name, std::string& into);
    void flag(const char* name, bool& into);
    void whole(const char* name, int& into);
    /// Up to 10^15, which a double in somebody's program still holds exactly.
    void large(const char* name, std::int64_t& into);
    void real(const char* name, double& into);
    void seconds(const char* name, domain::Duration& into);
    /// RFC 3339.
    void time(const char* name, std::optional<domain::TimePoint>& into);
    /// To be called last: what nobody asked for is a fault.
    void nothing_else();

  private:
    const nlohmann::json& object_;
    std::string at_;
    domain::DefinitionFaults& faults_;
    std::set<std::string> known_;
};

}
