// Every query of every board, asked of a real Prometheus that scrapes a hub under load, and of PostgreSQL: none is
// empty, none is in error.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/hub.h"
#include "tests/support/promtool.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& each) {
    for (const auto& [from, to] : each)
        for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    return text;
}

/// Prometheus, with our rules, looking at one hub every second.
class Prometheus {
  public:
    explicit Prometheus(int hub) : directory_(temporary_directory("prometheus")), port_(free_port()) {
        // Only where it looks, how often, and where the rules are is other than what is shipped.
        const auto config = replaced(text_of(kRoot / "deploy/prometheus/prometheus.yml"),
                                     {{"127.0.0.1:8080", "127.0.0.1:" + std::to_string(hub)},
                                      {": 15s", ": 1s"},
                                      {"- rules/", "- " + (kRoot / "deploy/prometheus/rules/").string()}});
        std::ofstream(directory_ + "/prometheus.yml") << config;
        platform::ProcessSettings settings;
        settings.command = {"prometheus", "--config.file=" + directory_ + "/prometheus.yml",
                            "--storage.tsdb.path=" + directory_ + "/data",
                            "--web.listen-address=127.0.0.1:" + std::to_string(port_), "--log.level=warn"};
        settings.log_file = directory_ + "/log";
        process_ = std::make_unique<platform::Process>(std::move(settings));
        if (!eventually([&] { return request(port_, "GET", "/-/ready").status == 200; }))
            throw std::runtime_error("prometheus did not start; scripts/bootstrap installs it:\n" +
                                     text_of(directory_ + "/log"));
    }
    ~Prometheus() {
        process_.reset();
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }

    /// What is wrong with the answer to it; "" where there is a number.
    std::string complaint(const std::string& query) const {
        std::ofstream(directory_ + "/query") << query;
        const auto said = run_tool("curl -s --max-time 10 http://127.0.0.1:" + std::to_string(port_) +
                                   "/api/v1/query --data-urlencode query@" + directory_ + "/query");
        const auto answer = Json::parse(said.text, nullptr, false);
        if (answer.is_discarded() || answer.value("status", "") != "success")
            return answer.is_discarded() ? said.text : answer.value("error", "?");
        const auto& result = answer["data"]["result"];
        if (answer["data"]["resultType"] == "scalar") return "";
        for (const auto& each : result)
            if (each["value"][1] != "NaN") return "";
        return result.empty() ? "empty" : "NaN";
    }

  private:
    std::string directory_;
    int port_;
    std::unique_ptr<platform::Process> process_;
};

/// A hub that everything happens to.
class Busy {
  public:
    Busy()
        : collector_([](const Asked&) {
              return Behaviour{200, "{}"};
          }),
          ear_([](const Asked& asked) {
              return Behaviour{asked.path == "/deaf" ? 500 : 200, "{}"};
          }),
          work_([](const Asked& asked) { return behave(asked); }),
          hub("[tracing]\nurl = \"" + collector_.url("/v1/traces") +
              "\"\n[hub]\nlease_seconds = 2\nheartbeat_ms = 500\n[retention]\nevery_seconds = "
              "1\n[alerts]\nevery_seconds = "
              "1\n[[alerts.receivers]]\nname = \"am\"\ntype = \"alertmanager\"\nurl = \"" +
              collector_.url("") +
              "\"\n[alerts.route]\nreceiver = \"am\"\ngroup_by = [\"alertname\"]\ngroup_wait_seconds "
              "= 0\ngroup_interval_seconds = 1\n") {
        define();
        history();
    }
    ~Busy() {
        stopping_ = true;
        for (auto& each : threads_) each.join();
    }
    Busy(const Busy&) = delete;

    void begin() {
        threads_.emplace_back([this] { keep_busy(); });
        threads_.emplace_back([this] {
            while (!stopping_) hub.api("GET", "/v1/executions/" + waits_ + "?wait=1");
        });
        threads_.emplace_back([this] {
            while (!stopping_)
                raw_exchange(hub.hub->port(),
                             "GET /v1/events HTTP/1.1\r\nhost: a\r\nauthorization: Bearer " + hub.key + "\r\n\r\n", 1);
        });
    }

  private:
    static Behaviour behave(const Asked& asked) {
        const auto result = [](const std::string& usage) {
            return Behaviour{
                200,
                R"({"status":"completed","result_data":1,"metrics":{"items_processed":4,"cost_usd":"0.02"},"usage":[)" +
                    usage + "]}"};
        };
        if (asked.path == "/fails") return {500, "no"};
        if (asked.path == "/rejects") return {400, "no"};
        if (asked.path == "/runs") return {202, "{}"};
        if (asked.path == "/moody")
            return result(R"({"provider":"moody","api_calls":1,"cost_usd":"0.02","retry_after_seconds":1})");
        return result(R"({"provider":"gemini","api_calls":1,"tokens":100,"cost_usd":"0.02"})");
    }
    static Json calling(const std::string& provider) {
        return {{"call_estimates", {{{"provider", provider}, {"calls", 1}}}}};
    }

    void define() {
        const auto put = [&](const std::string& path, const Json& body) {
            const auto reply = hub.api("PUT", path, body);
            ASSERT_EQ(reply.status / 100, 2) << path << reply.body;
        };
        put("/v1/providers/gemini", {{"limits",
                                      {{{"name", "rate"},
                                        {"of", "requests"},
                                        {"limit", 1000},
                                        {"per", "minute"},
                                        {"key", "/input_data/customer"},
                                        {"per_key", {{"ceiling", 900}}}}}}});
        put("/v1/providers/moody",
            {{"limits", {{{"name", "rate"}, {"of", "requests"}, {"limit", 1000}, {"per", "minute"}}}}});
        put("/v1/budgets/day", {{"limit_usd", "100"}, {"window", "day"}, {"steps", Json::array()}, {"reason", "test"}});
        put("/v1/fairness", {{"measure", "starts"},
                             {"shares", {{{"organization_id", "default"}, {"weight", 1}, {"minimum_percent", 10}}}},
                             {"reason", "test"}});
        for (const auto* name : {"crm", "deaf"})
            put(std::string("/v1/subscribers/") + name, {{"url", ear_.url(std::string("/") + name)},
                                                         {"types", {"execution.completed"}},
                                                         {"backoff_seconds", 1}});
        auto good = calling("gemini");
        good.update({{"cost_estimate_usd", "0.02"}, {"max_concurrency", 2}});
        hub.register_type("good", work_.url("/good"), good);
        put("/v1/schedules/often", {{"workflow_type", "good"}, {"interval_seconds", 1}});
        hub.register_type("moody", work_.url("/moody"), calling("moody"));
        hub.register_type("fails", work_.url("/fails"), {{"retry_policy", quick_retries(1)}});
        hub.register_type("rejects", work_.url("/rejects"));
        hub.register_type("runs", work_.url("/runs"));
        hub.register_type("stopped", work_.url(), {{"max_wait_seconds", 1}});
        // a"b\c, a line feed, hub_up 0
        hub.register_type("a%22b%5Cc%0Ahub_up%200", work_.url("/good"));
        hub.register_type("bounded", work_.url(), {{"enabled", false}, {"queue_soft_limit", 1}});
        hub.register_type("fresh", work_.url(), {{"enabled", false}, {"queue_ttl_seconds", 1}});
    }

    /// What is there before somebody looks: a dead letter, something stalled, a node that was killed.
    void history() {
        hub.await_end(hub.enqueue("rejects"));
        waits_ = hub.enqueue("runs");
        EXPECT_TRUE(hub.await(waits_, [](const Json& e) { return e["status"] == "running"; }));
        hub.api("POST", "/v1/pause", {{"workflow_type", "stopped"}, {"reason", "test"}});
        for (int i = 0; i < 3; ++i) hub.enqueue("stopped", {{"n", i}}, {{"priority", 30 * i}});
        hub.hub->kill();
        hub.database.run("update events set at = at - interval '1 hour'");
        // There was a hub before: reports are due.
        hub.database.run("update organizations set created_at = created_at - interval '60 days'");
        hub.database.run(
            "update executions set updated_at = updated_at - interval '1 hour', timeout_at = timeout_at + interval '1 "
            "hour' where status = 'running'");
        EXPECT_TRUE(eventually([&] {
            return hub.database.value("select count(*) from nodes where lease_until < clock_timestamp()") == "1";
        }));
        hub.start();
    }

    void keep_busy() {
        for (int i = 0; !stopping_; ++i) {
            const Json of{{"customer", "c" + std::to_string(i % 3)}};
            const std::string batch = "00000000-0000-7000-8000-00000000000" + std::to_string(i % 3);
            hub.api("POST", "/v1/executions/batch",
                    {{"batch_id", batch},
                     {"executions",
                      {{{"workflow_type", "good"}, {"input", of}},
                       {{"workflow_type", "good"}, {"input", of}},
                       {{"workflow_type", "good"}, {"input", of}}}}});
            for (const auto* type : {"moody", "fails", "rejects", "bounded", "bounded", "fresh", "runs"})
                hub.api("POST", "/v1/executions", {{"workflow_type", type}});
            hub.database.run("select enqueue_workflow_task('good', 50, '{}')");
            hub.api("PUT", "/v1/timers/soon", {{"in_seconds", 0}, {"payload", {{"n", i}}}});
            hub.api("POST", "/api/v2/alerts",
                    Json::array({{{"labels", {{"alertname", "a" + std::to_string(i)}, {"severity", "info"}}}}}));
            for (const auto& asked : work_.asked()) {
                if (asked.path != "/runs" || asked.execution_id() == waits_ ||
                    !answered_.insert(asked.webhook_id()).second)
                    continue;
                Peer::call_back(asked, {{"status", "running"}, {"progress", {{"done", 1}, {"total", 2}}}});
                Peer::call_back(asked,
                                {{"status", "completed"}, {"metrics", {{"items_processed", 1}, {"cost_usd", "0.01"}}}});
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{300});
        }
    }

    Peer collector_;
    Peer ear_;
    Peer work_;

  public:
    HubFixture hub;

  private:
    std::string waits_;
    std::set<std::string> answered_;
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

/// The role that docs/monitoring.md tells people to make for Grafana.
class Reader {
  public:
    explicit Reader(const TestDatabase& database) : database_(database), role_("grafana_" + database.name()) {
        const auto page = text_of(kRoot / "docs/monitoring.md");
        const auto begin = page.find("grant select on");
        const auto grant = page.substr(begin, page.find(';', begin) - begin);
        database_.run("create role " + role_);
        database_.run(replaced(grant, {{" to grafana", " to " + role_}}));
    }
    ~Reader() {
        database_.run("drop owned by " + role_);
        database_.run("drop role " + role_);
    }
    std::int64_t rows(const std::string& query) const {
        std::int64_t count = 0;
        database_.transact([&](platform::Tx& tx) {
            tx.run("set local role " + role_);
            const auto rows = tx.run("select count(*) from (" + query + ") q");
            count = platform::RowReader(rows, 0).integer();
        });
        return count;
    }

  private:
    const TestDatabase& database_;
    std::string role_;
};

struct Query {
    std::string where;
    std::string text;
    bool sql = false;
};

/// As Grafana would ask, with everything chosen and the last minute shown.
std::vector<Query> queries(const HubFixture& hub) {
    const std::string time = "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'";
    const auto at = [&](const char* when) {
        return "'" +
               hub.database.value(std::string("select to_char(now() at time zone 'utc' + interval '") + when + "', " +
                                  time + ")") +
               "'";
    };
    const auto from = at("-1 hour");
    const auto to = at("10 minutes");
    std::vector<Query> all;
    for (const auto& entry : fs::directory_iterator(kRoot / "dashboards")) {
        if (entry.path().extension() != ".json") continue;
        const auto board = Json::parse(text_of(entry.path()));
        const auto name = entry.path().stem().string();
        const auto prometheus = [&](const std::string& where, const std::string& text) {
            all.push_back({name + ": " + where, replaced(text, {{"$organization", ".*"},
                                                                {"$workflow_type", ".*"},
                                                                {"$__rate_interval", "15s"},
                                                                {"$__range", "60s"}})});
        };
        for (const auto& each : board["annotations"]["list"])
            prometheus("annotation " + each.value("name", ""), each["expr"]);
        for (const auto& each : board["templating"]["list"]) {
            if (each["type"] != "query") continue;
            auto text = each["query"]["query"].get<std::string>();
            const auto begin = text.find('(');
            const auto comma = text.rfind(',');
            prometheus("variable " + each.value("name", ""),
                       "group by (" + text.substr(comma + 1, text.size() - comma - 2) + ") (" +
                           text.substr(begin + 1, comma - begin - 1) + ")");
        }
        for (const auto& panel : board["panels"]) {
            if (panel["type"] == "row") continue;
            for (const auto& target : panel["targets"]) {
                const auto where = panel.value("title", "") + " " + target.value("refId", "");
                if (!target.contains("rawSql")) {
                    prometheus(where, target["expr"]);
                    continue;
                }
                auto sql = replaced(target["rawSql"], {{"${organization:regex}", ".*"},
                                                       {"${workflow_type:regex}", ".*"},
                                                       {"$__timeFrom()", from},
                                                       {"$__timeTo()", to}});
                for (auto begin = sql.find("$__timeFilter("); begin != std::string::npos;
                     begin = sql.find("$__timeFilter(")) {
                    const auto open = begin + std::string("$__timeFilter").size();
                    const auto close = sql.find(')', open);
                    const auto column = sql.substr(open + 1, close - open - 1);
                    sql.replace(begin, close - begin + 1, column + " BETWEEN " + from + " AND " + to);
                }
                all.push_back({name + ": " + where, sql, true});
            }
        }
    }
    return all;
}

TEST(Boards, EveryQueryHasAnAnswer) {
    Busy busy;
    const Prometheus prometheus(busy.hub.hub->port());
    busy.begin();
    auto open = queries(busy.hub);
    const auto asked = open.size();
    // And everything that is declared is told, whoever draws it.
    std::istringstream page(run({"metrics", "--markdown"}).text);
    for (std::string line; std::getline(page, line);)
        if (line.starts_with("| `")) {
            const auto name = line.substr(3, line.find('`', 3) - 3);
            if (name == "impresario_metrics_folded_total") continue;
            open.push_back({"catalogue", name + (line.find("| histogram") != std::string::npos ? "_count" : "")});
        }
    const auto declared = open.size() - asked;
    EXPECT_GT(asked, 100U);
    EXPECT_GT(declared, 60U);

    // What people call their things is a name to Prometheus and nothing else (S12).
    open.push_back({"S12", "impresario_executions_enqueued_total{workflow_type=\"a\\\"b\\\\c\\nhub_up 0\"}"});

    const Reader reader(busy.hub.database);
    std::map<std::string, std::string> complaints;
    const auto began = std::chrono::steady_clock::now();
    const bool all = eventually(
        [&] {
            std::erase_if(open, [&](const Query& query) {
                std::string complaint;
                if (!query.sql) {
                    complaint = prometheus.complaint(query.text);
                } else {
                    try {
                        if (reader.rows(query.text) == 0) complaint = "empty";
                    } catch (const std::exception& e) {
                        complaint = e.what();
                    }
                }
                complaints[query.where + "\n    " + query.text] = complaint;
                return complaint.empty();
            });
            return open.empty();
        },
        60);
    std::printf("%zu queries and %zu metrics, answered after %.0f s\n", asked, declared, seconds_since(began));
    EXPECT_TRUE(all);
    EXPECT_EQ(prometheus.complaint("hub_up"), "empty");
    EXPECT_EQ(prometheus.complaint("max(up{job=\"impresario\"}) == 1"), "") << "every scrape is read";
    for (const auto& query : open)
        ADD_FAILURE() << query.where << ": " << complaints[query.where + "\n    " + query.text] << "\n    "
                      << query.text;
}

}
}
