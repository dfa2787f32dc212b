#include "bench/figures.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench/load.h"
#include "platform/async.h"
#include "platform/http_server.h"

namespace impresario::bench {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

double seconds_since(steady_clock::time_point begun) {
    return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

std::string single(const std::string& key) {
    return post_request(
        "/v1/executions", key,
        R"({"workflow_type":"bench","input":{"task":1,"note":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}})");
}

/// A peer that says when it was asked, and answers with the result at once.
class Peer {
  public:
    Peer() : server_(io_.get_executor(), settings(), [this](platform::HttpRequest) { return asked(); }) {
        server_.start();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~Peer() {
        io_.stop();
        thread_.join();
    }
    std::uint16_t port() const { return server_.port(); }
    steady_clock::time_point await() {
        std::unique_lock lock(mutex_);
        if (!arrived_.wait_for(lock, std::chrono::seconds{20}, [&] { return at_.has_value(); }))
            throw std::runtime_error("no request came within 20 s");
        const auto at = *at_;
        at_.reset();
        return at;
    }

  private:
    static platform::HttpServerSettings settings() {
        platform::HttpServerSettings made;
        made.address = "127.0.0.1";
        made.port = free_port();
        return made;
    }
    platform::Task<platform::HttpResponse> asked() {
        {
            std::lock_guard lock(mutex_);
            at_ = steady_clock::now();
        }
        arrived_.notify_one();
        platform::HttpResponse response;
        response.status = 200;
        response.headers.emplace_back("content-type", "application/json");
        response.body = R"({"status":"completed","result_data":{"ok":true}})";
        co_return response;
    }

    platform::asio::io_context io_{1};
    platform::HttpServer server_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::optional<steady_clock::time_point> at_;
};

/// Executions a second, and what each cost in CPU.
struct Drained {
    double rate = 0;
    Stage::Spent micros;
};

Drained drained(Stage& stage, std::int64_t count) {
    const auto before = stage.spent();
    const auto begun = steady_clock::now();
    stage.resume();
    stage.wait_drained();
    const double took = seconds_since(begun);
    const auto completed = std::stoll(stage.query("select count(*) from executions where status = 'completed'"));
    if (completed < count)
        throw std::runtime_error("only " + std::to_string(completed) + " of " + std::to_string(count) +
                                 " have completed");
    const auto after = stage.spent();
    const double each = 1e6 / static_cast<double>(count);
    return {static_cast<double>(count) / took,
            {(after.hubs - before.hubs) * each, (after.postgres - before.postgres) * each,
             (after.receiver - before.receiver) * each}};
}

}

std::vector<Figure> drain(const StageSettings& settings, platform::LocalPostgres& postgres, Receiver receiver,
                          std::int64_t count) {
    Stage stage(settings, postgres, receiver);
    stage.pause();
    stage.fill(count);
    stage.query("vacuum analyze executions");
    const auto done = drained(stage, count);
    const std::string name = receiver == Receiver::kit ? "drain_kit" : "drain_node";
    return {{name, done.rate, "1/s",
             std::to_string(count) + " executions, " + std::to_string(settings.in_flight) + " in flight"},
            {name + "_hub_cpu", done.micros.hubs, "us", "CPU of the hub for each execution"},
            {name + "_postgres_cpu", done.micros.postgres, "us", "of PostgreSQL"},
            {name + "_receiver_cpu", done.micros.receiver, "us", "of the sub-workflow"}};
}

std::vector<Figure> enqueue(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    Stage stage(settings, postgres, Receiver::own, free_port());
    stage.pause();
    LoadSettings load;
    load.port = stage.hub_port();
    load.connections = 50;
    load.requests = count;
    load.request = [text = single(stage.key())](std::int64_t) { return text; };
    const auto result = run_load(load);
    if (result.failed > 0) throw std::runtime_error("enqueue: " + result.sample_failure);
    return {
        {"enqueue", static_cast<double>(count) / result.seconds, "1/s", "50 connections, one execution per request"},
        {"enqueue_p99", quantile(result.milliseconds, 0.99), "ms", ""}};
}

std::vector<Figure> pickup(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    Peer peer;
    Stage stage(settings, postgres, Receiver::own, peer.port());
    std::vector<double> waits;
    constexpr int kWarm = 20;
    LoadSettings load;
    load.port = stage.hub_port();
    load.requests = count + kWarm;
    load.rate = 1000;
    steady_clock::time_point begun;
    // One connection that sends the next when its answer has come and the peer was asked.
    load.request = [&, text = single(stage.key()), first = true](std::int64_t) mutable {
        if (!first) {
            waits.push_back(std::chrono::duration<double, std::milli>(peer.await() - begun).count());
            std::this_thread::sleep_for(milliseconds{5});
        }
        first = false;
        begun = steady_clock::now();
        return text;
    };
    const auto result = run_load(load);
    if (result.failed > 0) throw std::runtime_error("pickup: " + result.sample_failure);
    waits.erase(waits.begin(), waits.begin() + kWarm - 1);
    return {{"pickup_p50", quantile(waits, 0.5), "ms", std::to_string(count) + " one after the other, idle hub"},
            {"pickup_p99", quantile(waits, 0.99), "ms", ""}};
}

std::vector<Figure> callback(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    Stage stage(settings, postgres, Receiver::node);
    LoadSettings load;
    load.port = stage.hub_port();
    load.connections = 10;
    load.requests = count;
    load.rate = 100;
    load.request = [text = single(stage.key())](std::int64_t) { return text; };
    const auto result = run_load(load);
    if (result.failed > 0) throw std::runtime_error("callback: " + result.sample_failure);
    stage.wait_drained();
    const double end_to_end =
        std::stod(stage.query("select percentile_cont(0.99) within group (order by extract(epoch from completed_at - "
                              "created_at) * 1000) from executions"));
    const double median =
        std::stod(stage.query("select percentile_cont(0.5) within group (order by extract(epoch from completed_at - "
                              "created_at) * 1000) from executions"));
    kill(stage.receiver_pid(), SIGUSR2);
    nlohmann::json trips;
    wait_for("the receiver's report", 5, [&] {
        std::ifstream log(stage.receiver_log());
        for (std::string line; std::getline(log, line);)
            if (line.starts_with("{\"callbacks\"")) trips = nlohmann::json::parse(line, nullptr, false);
        return trips.is_object();
    });
    return {{"callback_p50", std::stod(trips.at("p50_ms").get<std::string>()), "ms",
             "100 a second, answered after the commit"},
            {"callback_p99", std::stod(trips.at("p99_ms").get<std::string>()), "ms", ""},
            {"paced_p50", median, "ms", "created to completed at 100 a second"},
            {"paced_p99", end_to_end, "ms", ""}};
}

std::vector<Figure> memory(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    Stage stage(settings, postgres, Receiver::own, free_port());
    stage.pause();
    const auto empty = stage.resident_kb();
    const auto begun = steady_clock::now();
    stage.fill(count);
    const double took = seconds_since(begun);
    return {{"memory_queued", static_cast<double>(stage.resident_kb()) / 1024, "MB",
             std::to_string(count) + " queued; " + std::to_string(empty / 1024) + " MB before"},
            {"enqueue_batch", static_cast<double>(count) / took, "1/s", "1,000 a request, one connection"}};
}

std::vector<Figure> closed_lane(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t closed,
                                std::int64_t open) {
    const auto measured = [&](std::int64_t beside) {
        Stage stage(settings, postgres, Receiver::kit);
        stage.ask("POST", "/v1/pause", R"({"workflow_type":"closed"})");
        stage.pause();
        stage.fill(beside, "closed");
        stage.fill(open);
        stage.query("vacuum analyze executions");
        return drained(stage, open).rate;
    };
    const double without = measured(0);
    const double with = measured(closed);
    return {{"open_lane", without, "1/s", "drained by itself"},
            {"beside_closed", with, "1/s", "drained beside " + std::to_string(closed) + " in a closed lane"},
            {"beside_closed_ratio", with / without, "", ""}};
}

namespace {
constexpr int kProviders = 5;
constexpr int kBudgets = 10;

/// How much of what is limited falls on each start.
enum class Held {
    nothing,
    /// Two of the five providers, and the budgets of those, of the type, the organization and everybody.
    some,
    /// All of it.
    all,
};

/// Four kinds of limits of each provider, and ten budgets; none is reached.
void limit(Stage& stage, Held held) {
    auto limited = nlohmann::json::parse(stage.type());
    limited["call_estimates"] = nlohmann::json::array();
    for (int i = 0; i < kProviders; ++i) {
        const auto name = "bench-" + std::to_string(i);
        stage.ask("PUT", "/v1/providers/" + name,
                  R"({"limits":[{"name":"calls","of":"requests","limit":1000000,"per":"minute"},
                     {"name":"tokens","of":"tokens","limit":1000000000,"per":"minute","kind":"token_bucket"},
                     {"name":"items","of":"items","limit":1000000000,"per":"hour"},
                     {"name":"cost","of":"cost","limit":"1000000","per":"day","kind":"fixed_window"}]})");
        if (held == Held::all || i < 2)
            limited["call_estimates"].push_back(
                {{"provider", name}, {"calls", 1}, {"tokens", 100}, {"items", 1}, {"cost_usd", "0.002"}});
    }
    for (int i = 0; i < kBudgets; ++i) {
        nlohmann::json budget{{"limit_usd", "1000000"}, {"window", i % 2 == 0 ? "day" : "month"}, {"reason", "bench"}};
        if (i == 0) budget["scope"] = {{"organization_id", nullptr}};
        if (i == 1) budget["scope"] = {{"workflow_type", "bench"}};
        if (i > 2 && i < kBudgets - kProviders && held == Held::some)
            budget["scope"] = {{"workflow_type", "other-" + std::to_string(i)}};
        if (i >= kBudgets - kProviders) budget["scope"] = {{"provider", "bench-" + std::to_string(i % kProviders)}};
        stage.ask("PUT", "/v1/budgets/bench-" + std::to_string(i), budget.dump());
    }
    stage.ask("PUT", "/v1/workflow-types/bench", limited.dump());
}
}

std::vector<Figure> limited(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    const auto measured = [&](Held held) {
        const bool with = held != Held::nothing;
        Stage stage(settings, postgres, Receiver::node);
        if (with) limit(stage, held);
        stage.pause();
        stage.fill(count);
        stage.query("vacuum analyze executions");
        const auto result = drained(stage, count);
        // What was not counted and booked was not measured.
        const auto taken =
            stage.query("select (select count(*) from permits) || ' ' || (select count(*) from ledger_movements)");
        const auto expected = std::to_string(with ? count : 0) + " " + std::to_string(with ? 2 * count : 0);
        if (taken != expected)
            throw std::runtime_error("permits and movements are " + taken + " instead of " + expected);
        return result;
    };
    // A machine is not equally fast all the time: each is between two without.
    const auto first = measured(Held::nothing);
    const auto some = measured(Held::some);
    const auto second = measured(Held::nothing);
    const auto with = measured(Held::all);
    const auto third = measured(Held::nothing);
    const auto between = [](double a, double b) { return (a + b) / 2; };
    return {{"unlimited", (first.rate + second.rate + third.rate) / 3, "1/s", "drained without limits and budgets"},
            {"active", some.rate, "1/s",
             "with " + std::to_string(4 * kProviders) + " limits and " + std::to_string(kBudgets) +
                 " budgets, of which 8 and 5 fall on each start"},
            {"active_ratio", some.rate / between(first.rate, second.rate), "", "to those before and after"},
            {"limited", with.rate, "1/s", "with all of them at each start"},
            {"limited_ratio", with.rate / between(second.rate, third.rate), "", ""},
            {"unlimited_hub_cpu", second.micros.hubs, "us", "CPU of the hub for each execution"},
            {"active_hub_cpu", some.micros.hubs, "us", ""},
            {"limited_hub_cpu", with.micros.hubs, "us", ""},
            {"unlimited_postgres_cpu", second.micros.postgres, "us", "of PostgreSQL"},
            {"active_postgres_cpu", some.micros.postgres, "us", ""},
            {"limited_postgres_cpu", with.micros.postgres, "us", ""}};
}

}
