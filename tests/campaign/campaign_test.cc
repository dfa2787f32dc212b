// Every kind of fault at every place that a hub passes, one after the other: a tour of everything a hub does is made
// with it, all has to end, and the tables have to be as promised. CI tries as many as fit in its time, chosen by a
// seed; IMPRESARIO_CAMPAIGN=all (scripts/storm --campaign) tries all of them, and any other value those with it in
// their name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "tests/campaign/tour.h"
#include "tests/storm/audit.h"
#include "tests/support/event_reader.h"

namespace impresario::campaign {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;
using testing::Peer;
using testing::TestDatabase;

constexpr auto kTimeInCi = std::chrono::seconds{60};
constexpr unsigned kMostTours = 6;
/// What leads where nothing else does: an event, or a grant, of which nobody knows whether it was committed.
const std::string kInDoubt =
    "sql.commit.append_events=done_then_error%8;sql.commit.charge_permits=done_then_error%25;"
    "sql.commit.post_movements=done_then_error%10;";

/// Of commands other than serve, what is asked only once a transaction has been open for ten seconds, and what only
/// where somebody tells thousands of alerts.
const std::set<std::string> kElsewhere{"create_key", "list_keys", "revoke_key", "oldest_writer", "known_received"};

/// What there is: the statements' files, and what is no statement.
std::set<std::string> existing_places() {
    std::set<std::string> places{"sql.connect",           "sql.begin",          "sql.text",
                                 "http.client.connect",   "http.client.write",  "http.client.read",
                                 "http.client.read_body", "http.server.accept", "http.server.read",
                                 "http.server.read_body", "http.server.write",  "http.server.pour"};
    for (const auto& room : fs::directory_iterator(IMPRESARIO_SOURCE_DIR)) {
        if (!fs::is_directory(room.path() / "sql")) continue;
        for (const auto& file : fs::directory_iterator(room.path() / "sql"))
            if (file.path().extension() == ".sql" && !kElsewhere.contains(file.path().stem().string()))
                places.insert("sql." + file.path().stem().string());
    }
    return places;
}

/// What was heard otherwise than it stands in the journal, the first of it.
std::string first_difference(const std::map<std::string, int>& heard, const std::map<std::string, int>& all) {
    for (const auto& [event, times] : heard)
        if (!all.contains(event) || times != 1) return event + ", heard " + std::to_string(times) + " times";
    for (const auto& [event, once] : all)
        if (!heard.contains(event)) return event + ", never heard";
    return "none";
}

/// What one tour with these faults has left to say: nothing, if all is well.
std::vector<std::string> make_tour(const std::string& failpoints, std::set<std::string>& seen) {
    TestDatabase database;
    // A hub that has been there for a month: a report is due, and hours are to be looked at, from the first turn on.
    database.run("update organizations set created_at = now() - interval '30 days'");
    database.run(
        "insert into orchestrator_metrics (metric_type, metric_value, metadata, timestamp) values ('hour', 0, '{}', "
        "date_trunc('hour', now()) - interval '3 hours')");
    const std::string seen_file = "/tmp/impresario-seen-" + std::to_string(getpid());
    std::vector<std::string> found;
    {
        Peer peer(answer);
        Hubs hubs(database, failpoints, seen_file);
        // From the first event on, whoever dies: none is left out, and none comes twice.
        const testing::EventReader reader(hubs.ports(), "/v1/events?topics=executions", hubs.key(), "all.0");
        std::string gave_up;
        try {
            tour(hubs, peer);
        } catch (const std::exception& e) {
            gave_up = e.what();
        }
        const bool ended = gave_up.empty() && testing::eventually(
                                                  [&] {
                                                      hubs.supervise();
                                                      return database.value(
                                                                 "select count(*) from executions where status not in "
                                                                 "('completed', 'failed', 'cancelled', 'dead')") == "0";
                                                  },
                                                  120);
        // Of what has ended something may still be told: that a callback came late and was refused.
        std::map<std::string, int> all;
        const auto heard = [&](const auto& events) {
            all = testing::journal_of_executions(database, 0);
            return testing::counted(events) == all;
        };
        const bool told = !ended || reader.await(heard, 60);
        // At least once each: what was in flight when a hub died comes again.
        std::set<std::string> untold;
        const auto all_told = [&] {
            hubs.supervise();
            untold.clear();
            for (const auto& each : testing::journal_of_executions(database, 0)) untold.insert(each.first);
            for (const auto& asked : peer.asked()) {
                if (asked.path != "/heard") continue;
                const auto& data = asked.json["data"];
                untold.erase(data.value("stream_id", "") + "/" + std::to_string(data.value("seq", 0)));
            }
            return untold.empty();
        };
        const bool subscriber_told = !ended || testing::eventually(all_told, 60);
        hubs.stop();
        found = hubs.complaints();
        if (!subscriber_told)
            found.push_back("a subscriber was not told of " + std::to_string(untold.size()) + " events, of " +
                            *untold.begin() + " for one");
        if (!told)
            found.push_back("a stream told of " + std::to_string(reader.events().size()) + " events, and there are " +
                            std::to_string(all.size()) + "; " +
                            first_difference(testing::counted(reader.events()), all));
        if (!gave_up.empty()) found.push_back(gave_up);
        platform::DatabaseSettings settings;
        settings.url = database.url();
        platform::Connection connection(settings, nullptr);
        const auto broken = storm::audit(connection, hubs.acknowledged());
        found.insert(found.end(), broken.begin(), broken.end());
        if (!ended) {
            const auto left = storm::unfinished(connection, 5);
            found.insert(found.end(), left.begin(), left.end());
        }
        if (!found.empty()) found.push_back("what the hubs said:\n" + hubs.logs());
    }
    std::ifstream file(seen_file);
    for (std::string place; std::getline(file, place);) seen.insert(place);
    file.close();
    fs::remove(seen_file);
    return found;
}

void expect_well(const std::string& failpoints, std::set<std::string>& seen) {
    const auto begun = steady_clock::now();
    const auto found = make_tour(failpoints, seen);
    std::cout << failpoints << "  " << std::chrono::duration<double>(steady_clock::now() - begun).count() << " s"
              << std::endl;
    std::string all;
    for (const auto& line : found) all += line + "\n";
    EXPECT_TRUE(found.empty()) << failpoints << "\n" << all;
}

TEST(Campaign, EveryFaultAtEveryPlace) {
    const char* wanted = std::getenv("IMPRESARIO_CAMPAIGN");
    const std::string part = wanted && std::string(wanted) != "all" ? wanted : "";
    const char* given = std::getenv("IMPRESARIO_SEED");
    const auto seed = given ? std::strtoul(given, nullptr, 10) : std::random_device{}();
    std::cout << "seed " << seed << " (IMPRESARIO_SEED repeats it)" << std::endl;
    const auto begun = steady_clock::now();

    // A tour without harm tells which places there are; commits in doubt lead where nothing else does.
    std::set<std::string> seen;
    const auto unseen = [&] {
        auto places = existing_places();
        for (const auto& place : seen) places.erase(place);
        return places;
    };
    for (unsigned i = 0; i < kMostTours && !unseen().empty(); ++i) {
        expect_well((i == 0 ? "" : kInDoubt) + "seed=" + std::to_string(seed + i), seen);
        std::cout << "  not passed yet:";
        for (const auto& place : unseen()) std::cout << " " << place;
        std::cout << std::endl;
    }
    for (const auto& place : unseen())
        ADD_FAILURE() << place << " is never passed: lead the tour there (tests/campaign/tour.cc)";

    std::vector<std::string> cases;
    for (const auto& place : seen)
        for (const auto* action : {"kill", "error", "done_then_error", "delay(700)"})
            if (auto each = place + "=" + action + "@1"; each.find(part) != std::string::npos)
                cases.push_back(std::move(each));
    std::mt19937 random(static_cast<unsigned>(seed));
    std::shuffle(cases.begin(), cases.end(), random);
    std::size_t tried = 0;
    for (const auto& each : cases) {
        if (!wanted && steady_clock::now() - begun > kTimeInCi) break;
        expect_well(each, seen);
        ++tried;
    }
    std::cout << "tried " << tried << " of " << cases.size() << " faults" << std::endl;
}

}
}
