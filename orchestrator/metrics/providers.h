#pragma once
// Providers: their limits, how they do, and what is used of them. Gauges by the node that leads.

#include "orchestrator/metrics/labels.h"

namespace impresario::orchestrator {
class Board;
}

namespace impresario::orchestrator::metrics {

struct Providers {
    Metrics& m;

    Counter attempts{m,
                     {"impresario_provider_attempts_total",
                      {kProvider, {"outcome"}},
                      "Attempts that are over, of types that call the provider, by their outcome."}};
    Histogram duration{m,
                       {"impresario_provider_attempt_duration_seconds",
                        {kProvider},
                        "From the grant of such an attempt to its end.",
                        kSlow}};
    Counter refusals{m,
                     {"impresario_provider_refusals_total",
                      {kProvider},
                      "Times the provider has refused and asked for patience, as this node has heard."}};
    Counter used{m,
                 {"impresario_provider_usage_total",
                  {kProvider, {"what"}},
                  "What attempts say they have used: api_call, tokens."}};
    Counter cost{m,
                 {"impresario_provider_cost_usd_total",
                  {kProvider},
                  "What they say it has cost; empty: of no provider that is named."}};
    Gauge limit_used{m,
                     {"impresario_provider_used",
                      {kProvider, {"limit", true}, {"subject", true}},
                      "What counts against a provider's limit, in its unit (cost: USD)."}};
    Gauge limit{m,
                {"impresario_provider_limit",
                 {kProvider, {"limit", true}, {"subject", true}},
                 "The most that a provider's limit gives at once, in its unit (cost: USD)."}};
    Gauge headroom{m,
                   {"impresario_provider_headroom",
                    {kProvider, {"limit", true}, {"subject", true}},
                    "How much more a provider's limit gives now, in its unit (cost: USD); 0 where more counts than it "
                    "gives."}};
    Gauge refill{m,
                 {"impresario_provider_refill_seconds",
                  {kProvider, {"limit", true}, {"subject", true}},
                  "Until one more fits a provider's limit; -1: when a request under way has ended.",
                  {},
                  true}};
    Gauge keys{m,
               {"impresario_provider_limit_keys",
                {kProvider, {"limit", true}, {"subject", true}, {"what"}},
                "Keys of a provider's limit that count against it (in_use), and those with something waiting."}};
    Gauge cooling{m,
                  {"impresario_provider_cooling_seconds",
                   {kProvider},
                   "Until a provider that has refused, or says that nothing is left, is asked again.",
                   {},
                   true}};
    Gauge learnt{m,
                 {"impresario_provider_learnt_limit",
                  {kProvider},
                  "Requests in its window that go well with a provider since it has refused; -1: no limit but those "
                  "declared.",
                  {},
                  true}};

    void show(const Board& board, domain::TimePoint now);
    void show_nothing();
};

}
