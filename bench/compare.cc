#include "bench/compare.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/in_process.h"

namespace impresario::bench {

using nlohmann::json;

const std::vector<Measure>& measures() {
    static const std::vector<Measure> all{
        {"drain",
         "queue to settled, with a Node.js and with a C++ sub-workflow",
         {"graphile_drain"},
         [](const auto& settings, auto& postgres, const auto& counts) {
             auto figures = drain(settings, postgres, Receiver::node, counts.drain);
             for (auto& figure : drain(settings, postgres, Receiver::kit, counts.drain))
                 figures.push_back(std::move(figure));
             return figures;
         }},
        {"lifecycle",
         "the same without HTTP",
         {"pgbench_life100"},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return lifecycle(settings, postgres, counts.drain);
         }},
        {"retention",
         "lifecycle while what ended long ago is removed",
         {},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return beside_retention(settings, postgres, counts.drain);
         }},
        {"enqueue",
         "POST /v1/executions, 50 connections",
         {"pgbench_insert"},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return enqueue(settings, postgres, counts.enqueue);
         }},
        {"pickup",
         "POST to the request at the peer, idle hub",
         {"pgbench_paced_insert", "graphile_pickup"},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return pickup(settings, postgres, counts.pickup);
         }},
        {"callback",
         "how long a callback waits for its answer, at 100/s",
         {"node_hub_callback"},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return callback(settings, postgres, counts.callback);
         }},
        {"claim",
         "a turn that grants 50, shallow and deep queue",
         {},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return claim(settings, postgres, 1000, counts.deep);
         }},
        {"snapshot",
         "a turn that grants 50 while another session holds a snapshot",
         {},
         [](const auto& settings, auto& postgres, const auto&) { return claim_beside_snapshot(settings, postgres); }},
        {"memory",
         "of the hub, with a deep queue",
         {},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return memory(settings, postgres, counts.deep);
         }},
        {"closed",
         "throughput beside a closed lane",
         {},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return closed_lane(settings, postgres, counts.closed, counts.drain / 2);
         }},
        {"limits",
         "throughput with 20 limits and 10 budgets",
         {},
         [](const auto& settings, auto& postgres, const auto& counts) {
             return limited(settings, postgres, counts.drain);
         }},
    };
    return all;
}

const std::vector<Target>& targets() {
    static const std::vector<Target> all{
        {"drain_node", "graphile_drain", 5, true, "drain, Node.js sub-workflow, to graphile-worker"},
        {"drain_kit", "graphile_drain", 10, true, "drain, C++ sub-workflow, to graphile-worker"},
        {"lifecycle", "pgbench_life100", 0.75, true, "lifecycle without HTTP to pgbench claim 100 + complete"},
        {"enqueue", "pgbench_insert", 2, true, "enqueue to pgbench single insert, 8 clients"},
        {"pickup_p50", "pgbench_paced_insert", 2.5, false, "pickup p50 to a paced single insert"},
        {"pickup_p99", "graphile_pickup_p99", 0.5, false, "pickup p99 to graphile-worker's"},
        {"callback_p99", "node_hub_callback_p99", 0.5, false, "callback p99 to the batched Node hub's"},
        {"claim_deep_ratio", "", 1.5, false, "claim of 50, deep queue to shallow"},
        {"claim_beside_snapshot_ratio", "", 2, false, "claim of 50 beside a held snapshot to fresh"},
        {"memory_queued", "", 400, false, "MB of the hub with a deep queue"},
        {"beside_closed_ratio", "", 0.95, true, "throughput beside a closed lane to without"},
        {"active_ratio", "", 0.9, true, "throughput with 20 limits and 10 budgets, 8 and 5 at each start, to without"},
        {"limited_ratio", "", 0.9, true, "the same, all 20 and 10 at each start"},
    };
    return all;
}

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string run(std::vector<std::string> command, const StageSettings& settings, const std::string& directory,
                Environment environment) {
    platform::ProcessSettings process;
    process.command = std::move(command);
    process.directory = directory;
    process.environment = std::move(environment);
    process.environment.emplace_back("PGHOST", "127.0.0.1");
    process.environment.emplace_back("PGPORT", std::to_string(settings.postgres_port));
    process.environment.emplace_back("PGUSER", "impresario");
    const std::string name = process.command.front() + (process.command.size() > 1 ? " " + process.command[1] : "");
    const auto finished = platform::run_command(std::move(process));
    if (finished.status != 0) throw std::runtime_error(name + " failed: " + finished.output);
    return finished.output;
}

/// The JSON lines of a peer's bench, one for each test.
std::vector<json> node_bench(const StageSettings& settings, std::vector<std::string> script, Environment environment) {
    if (!std::filesystem::exists(settings.peers + "/node_modules"))
        throw std::runtime_error("the peers are not installed; run: npm ci --prefix " + settings.peers);
    script.insert(script.begin(), "node");
    std::istringstream output(run(std::move(script), settings, settings.peers, std::move(environment)));
    std::vector<json> lines;
    for (std::string line; std::getline(output, line);)
        if (auto parsed = json::parse(line, nullptr, false); parsed.is_object()) lines.push_back(std::move(parsed));
    return lines;
}

double pgbench(const StageSettings& settings, platform::LocalPostgres& postgres, const std::string& script,
               std::vector<std::string> options, const std::string& figure) {
    postgres.create_database("peer_pgbench");
    const auto sql = std::filesystem::absolute(settings.peers + "/sql").string();
    const auto psql = platform::LocalPostgres::find_program("psql");
    run({psql, "-qX", "-d", "peer_pgbench", "-f", "schema.sql"}, settings, sql,
        {{"PGOPTIONS", "-c client_min_messages=error"}});
    run({psql, "-qX", "-d", "peer_pgbench", "-v", "n=400000", "-v", "hours=1", "-f", "fill.sql"}, settings, sql, {});
    run({psql, "-qX", "-d", "peer_pgbench", "-c", "checkpoint"}, settings, sql, {});
    std::vector<std::string> command{
        platform::LocalPostgres::find_program("pgbench"), "-n", "-M", "prepared", "-T", "4", "-f", script};
    command.insert(command.end(), options.begin(), options.end());
    command.emplace_back("peer_pgbench");
    std::istringstream output(run(std::move(command), settings, sql, {}));
    double value = 0;
    double lag = 0;
    for (std::string line; std::getline(output, line);) {
        if (line.starts_with(figure)) value = std::stod(line.substr(line.find('=') + 1));
        if (line.starts_with("rate limit schedule lag: avg ")) lag = std::stod(line.substr(29));
    }
    return value - lag;
}

}

std::vector<Figure> run_peer(const std::string& name, const StageSettings& settings,
                             platform::LocalPostgres& postgres) {
    if (name == "graphile_drain") {
        for (const auto& line :
             node_bench(settings, {"e2e.mjs", "gw"}, {{"PACED", "0"}, {"CONC", std::to_string(settings.in_flight)}}))
            if (line.value("test", "") == "e2e-drain")
                return {{name, line.at("jobs_s").get<double>(), "1/s", "graphile-worker, end to end"}};
    } else if (name == "graphile_pickup") {
        double p50 = 1e9;
        double p99 = 1e9;
        for (const auto& line :
             node_bench(settings, {"gw.mjs"}, {{"N", "1"}, {"SINGLES", "1"}, {"PLAIN", "0"}, {"LAT", "300"}}))
            if (line.value("test", "") == "pickup") {
                p50 = std::min(p50, line.at("p50_ms").get<double>());
                p99 = std::min(p99, line.at("p99_ms").get<double>());
            }
        return {{"graphile_pickup_p50", p50, "ms", "graphile-worker, the better of its two settings"},
                {"graphile_pickup_p99", p99, "ms", ""}};
    } else if (name == "node_hub_callback") {
        for (const auto& line :
             node_bench(settings, {"e2e.mjs", "raw"}, {{"N", "0"}, {"PACED", "600"}, {"BATCH", "1"}}))
            if (line.contains("callbacks"))
                return {{"node_hub_callback_p50", std::stod(line.at("p50_ms").get<std::string>()), "ms",
                         "a Node.js hub that batches its writes, at 100/s"},
                        {"node_hub_callback_p99", std::stod(line.at("p99_ms").get<std::string>()), "ms", ""}};
    } else if (name == "pgbench_life100") {
        return {{name, 100 * pgbench(settings, postgres, "p_life100.sql", {"-c", "1"}, "tps"), "1/s",
                 "pgbench, claim 100 + complete, 1 client"}};
    } else if (name == "pgbench_insert") {
        return {{name, pgbench(settings, postgres, "p_insert1.sql", {"-c", "8", "-j", "2"}, "tps"), "1/s",
                 "pgbench, single insert, 8 clients"}};
    } else if (name == "pgbench_paced_insert") {
        return {{name, pgbench(settings, postgres, "p_insert1.sql", {"-c", "1", "-R", "100"}, "latency average"), "ms",
                 "pgbench, single insert at 100/s, mean"}};
    }
    throw std::runtime_error(name + " printed no figure");
}

}
