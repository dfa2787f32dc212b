#pragma once
// Simulated sub-workflows: they take, refuse, stay silent, run, and call back early, late, twice, contradictorily or
// never.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "domain/trigger.h"
#include "platform/http_client.h"
#include "simulation/chance.h"
#include "simulation/world.h"

namespace impresario::simulation {

class Peers {
  public:
    Peers(World& world, Chance chance);

    using Answer = std::function<void(platform::HttpOutcome)>;
    /// One request of a process; answered once.
    void request(Process& from, std::string method, platform::Url url, platform::Headers headers, std::string body,
                 Answer answer);
    /// From now on what is asked is done.
    std::size_t running() const;

  private:
    struct Endpoint {
        domain::EndpointId id;
        domain::Lane lane;
        /// What it does, whatever its definition says.
        bool deduplicates = false;
        bool says_so = false;
    };
    /// One asking as it runs at one endpoint.
    struct Run {
        domain::ExecutionId execution;
        domain::AttemptId attempt;
        domain::Secret token;
        int endpoint = 0;
        int starts = 0;
        bool cancelled = false;
        bool ended = false;
        /// Its last word.
        std::string result;
    };
    using RunPtr = std::shared_ptr<Run>;

    void trigger(Process& from, int port, const platform::Headers& headers, const std::string& body, Answer answer);
    RunPtr start(int port, const domain::AttemptId& attempt, const domain::Trigger& trigger, bool and_run);
    void play(const RunPtr& run);
    std::string last_word(bool hopeful);
    void call_back(const RunPtr& run, const std::string& body, int tries = 0);
    void answer_after(domain::Duration wait, Answer answer, platform::HttpOutcome outcome);

    World& world_;
    Chance chance_;
    std::map<int, Endpoint> endpoints_;
    std::map<std::pair<int, domain::AttemptId>, RunPtr> runs_;
    int words_ = 0;
};

}
