#include "bench/in_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include "bench/load.h"
#include "orchestrator/hub.h"
#include "orchestrator/retention.h"
#include "platform/callback_json.h"
#include "platform/crypto.h"

namespace impresario::bench {

namespace asio = platform::asio;
using std::chrono::steady_clock;

namespace {

/// A node and its scheduler on a database of a stage, in this thread.
class InProcess {
  public:
    /// Never destroyed: see in_child.
    static InProcess& make(const StageSettings& settings, platform::DatabaseSettings database, bool removes = false) {
        return *new InProcess(settings, std::move(database), removes);
    }

    /// `removes`: what ended long ago, meanwhile.
    InProcess(const StageSettings& settings, platform::DatabaseSettings database, bool removes)
        : removes_(removes),
          whole_(static_cast<std::size_t>(settings.batch)),
          keys_({domain::Secret(platform::base64(std::string(32, 'k')))}),
          dice_(1),
          database_(io_.get_executor(), pool(settings, std::move(database)), &clock_),
          client_(io_.get_executor(), {}),
          probe_(metrics_),
          node_({io_.get_executor(), database_, clock_, dice_, ids_, keys_, client_, probe_, deliver()}, {}),
          hub_(node_, hub_settings(settings)),
          retention_(node_, hub_, {{}, std::chrono::seconds{1}}) {
        hub_.on_granted = [this](domain::Duration took, std::size_t grants) {
            if (grants == whole_) turns_.push_back(std::chrono::duration<double, std::milli>(took).count());
        };
    }

    /// Runs until so many have been settled, or so many whole turns have been seen.
    void run(std::int64_t settle, std::size_t turns) {
        settle_ = settled_ + settle;
        turns_wanted_ = turns;
        asio::co_spawn(io_, go(), asio::detached);
        io_.run();
        if (failure_) std::rethrow_exception(failure_);
    }
    double seconds() const { return std::chrono::duration<double>(ended_ - *begun_).count(); }
    /// Milliseconds of each turn that granted as many as a turn may.
    const std::vector<double>& turns() const { return turns_; }

  private:
    static platform::DatabaseSettings pool(const StageSettings& settings, platform::DatabaseSettings made) {
        made.connections = settings.connections;
        return made;
    }
    static orchestrator::HubSettings hub_settings(const StageSettings& settings) {
        orchestrator::HubSettings made;
        made.max_batch_size = settings.batch;
        return made;
    }

    platform::Task<void> go() {
        try {
            co_await node_.refresh_catalogue();
            node_.start();
            asio::co_spawn(io_, hub_.run(), asio::detached);
            if (removes_) asio::co_spawn(io_, retention_.run(), asio::detached);
        } catch (...) {
            failure_ = std::current_exception();
            io_.stop();
        }
    }

    orchestrator::Deliver deliver() {
        return [this](domain::Trigger trigger, domain::AttemptId attempt, int number,
                      std::shared_ptr<const webhooks::Target> target) {
            return answer(std::move(trigger), attempt, number, std::move(target));
        };
    }

    platform::Task<webhooks::Delivered> answer(domain::Trigger trigger, domain::AttemptId attempt, int number,
                                               std::shared_ptr<const webhooks::Target> target) {
        if (!begun_) begun_ = steady_clock::now();
        webhooks::Delivered delivered;
        delivered.outcome = webhooks::Accepted{};
        auto& record = delivered.record;
        record.execution = trigger.execution_id;
        record.attempt = attempt;
        record.number = number;
        record.at = clock_.now();
        record.url = target->url;
        record.address = "127.0.0.1";
        record.status = 202;
        record.outcome = "accepted";
        record.answer = R"({"accepted":true})";
        asio::co_spawn(io_, call_back(trigger.execution_id, attempt), asio::detached);
        co_return delivered;
    }

    /// After its 202, as a service that answers before it works.
    platform::Task<void> call_back(domain::ExecutionId execution, domain::AttemptId attempt) {
        co_await asio::post(io_, asio::use_awaitable);
        orchestrator::CallbackReceived received;
        received.attempt = attempt;
        received.body =
            R"({"execution_id":")" + execution.text() +
            R"(","status":"completed","result_data":{"ok":true},"metrics":{"duration_ms":1,"items_processed":1,"cost_usd":0.01,"api_calls_made":1}})";
        received.callback = *platform::parse_callback(received.body);
        received.sha256 = std::string(platform::view(platform::sha256(received.body)));
        auto settling = node_.submit(execution, std::move(received));
        const auto reply = co_await std::move(settling);
        if (reply.answer.status != 200)
            failure_ = std::make_exception_ptr(std::runtime_error("a callback was refused: " + reply.answer.detail));
        ++settled_;
        ended_ = steady_clock::now();
        if (failure_ || settled_ >= settle_ || (turns_wanted_ > 0 && turns_.size() >= turns_wanted_)) io_.stop();
    }

    bool removes_;
    std::size_t whole_;
    asio::io_context io_{1};
    platform::DatabaseClock clock_;
    platform::KeyRing keys_;
    platform::SeededDice dice_;
    platform::IdSource ids_;
    platform::Metrics metrics_;
    platform::Database database_;
    platform::HttpClient client_;
    orchestrator::Probe probe_;
    orchestrator::Node node_;
    orchestrator::Hub hub_;
    orchestrator::Retention retention_;
    std::vector<double> turns_;
    std::int64_t settled_ = 0;
    std::int64_t settle_ = 0;
    std::size_t turns_wanted_ = 0;
    std::optional<steady_clock::time_point> begun_;
    steady_clock::time_point ended_{};
    std::exception_ptr failure_;
};

/// Works in a process of its own: coroutines that still wait hold on to the hub, and the end of a process ends them all
/// at once. Throws std::runtime_error with what went wrong there.
double in_child(const std::function<double()>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        std::string said;
        try {
            said = std::to_string(work());
        } catch (const std::exception& e) {
            said = std::string("!") + e.what();
        }
        [[maybe_unused]] const auto written = write(ends[1], said.data(), said.size());
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char bytes[512];
    for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
        said.append(bytes, static_cast<std::size_t>(got));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (said.empty() || said.front() == '!')
        throw std::runtime_error("in process: " + said.substr(said.empty() ? 0 : 1));
    return std::stod(said);
}

/// A stage without hub processes: registers the type by hand.
StageSettings alone(StageSettings settings) {
    settings.nodes = 0;
    return settings;
}

void put_type(Stage& stage, int in_flight) {
    stage.query("insert into workflow_types (organization_id, name) values ('default', 'bench')");
    stage.query(
        "insert into endpoints (organization_id, workflow_type, url, max_in_flight) values ('default', 'bench', "
        "'http://127.0.0.1:1/', " +
        std::to_string(in_flight) + ")");
}

/// Waiting rows in bulk: all levels, four hours.
void insert_rows(Stage& stage, std::int64_t count) {
    constexpr std::int64_t kPart = 100'000;
    for (std::int64_t from = 1; from <= count; from += kPart)
        stage.query(
            "with made as (insert into executions (execution_id, workflow_type, status, priority, created_at, "
            "scheduled_at, ready, ready_at, last_seq)"
            " select uuid_v7(), 'bench', 'queued', (i * 7919) % 101, at, at, true, at, 1 from ("
            "  select i, now() - interval '3 hours' * ((i * 104729) % 1000003) / 1000003.0 as at from "
            "generate_series(" +
            std::to_string(from) + "::bigint, " + std::to_string(std::min(count, from + kPart - 1)) +
            ") i) s returning execution_id), inputs as (insert into execution_inputs (execution_id, input_data)"
            " select execution_id, '{\"task\":1}' from made)"
            " insert into events (kind, stream_id, seq, organization_id, type, payload)"
            " select 'execution', execution_id, 1, 'default', 'execution.queued', '{}' from made");
    stage.query("vacuum analyze executions, execution_inputs, events");
}

/// Turns of 50 with room for all that they grant.
StageSettings turns_of_50(const StageSettings& settings) {
    auto made = alone(settings);
    made.batch = 50;
    made.in_flight = 10000;
    return made;
}

double turn_of_50(Stage& stage, const StageSettings& settings, std::int64_t depth) {
    return in_child([&] {
        InProcess& hub = InProcess::make(settings, stage.database());
        hub.run(depth, 100);
        if (hub.turns().size() < 10) throw std::runtime_error("too few turns granted 50");
        return quantile(hub.turns(), 0.5);
    });
}

double turn_at(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t depth) {
    const auto fifty = turns_of_50(settings);
    Stage stage(fifty, postgres, Receiver::own, 1);
    put_type(stage, fifty.in_flight);
    insert_rows(stage, depth);
    return turn_of_50(stage, fifty, depth);
}

}

std::vector<Figure> lifecycle(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t count) {
    Stage stage(alone(settings), postgres, Receiver::own, 1);
    put_type(stage, settings.in_flight);
    insert_rows(stage, count);
    const double seconds = in_child([&] {
        InProcess& hub = InProcess::make(settings, stage.database());
        hub.run(count, 0);
        return hub.seconds();
    });
    return {{"lifecycle", static_cast<double>(count) / seconds, "1/s",
             std::to_string(count) + " executions without HTTP, grants of " + std::to_string(settings.batch) + ", " +
                 std::to_string(settings.in_flight) + " in flight"}};
}

namespace {
/// What ended a hundred days ago, with all that belongs to it.
void insert_old(Stage& stage, std::int64_t count) {
    stage.query(
        "with made as (insert into executions (execution_id, workflow_type, status, created_at, scheduled_at, "
        "started_at, "
        "completed_at, attempts, last_seq) select uuid_v7(), 'bench', 'completed', at, at, at, at, 1, 4 from "
        "(select now() - interval '100 days' + i * interval '1 millisecond' as at from generate_series(1, " +
        std::to_string(count) +
        ") i) s returning execution_id, created_at), inputs as (insert into execution_inputs (execution_id, input_data)"
        " select execution_id, '{\"task\":1}' from made), results as (insert into execution_results (execution_id, "
        "opening, "
        "result_data) select execution_id, 1, '{\"ok\":true}' from made), tried as (insert into attempts "
        "(execution_id, "
        "number, attempt_id, opening, deliveries, outcome) select execution_id, 1, gen_random_uuid(), 1, 1, "
        "'completed' from "
        "made) insert into events (kind, stream_id, seq, organization_id, type, at, payload) select 'execution', "
        "execution_id, seq, 'default', 'execution.queued', created_at, '{}' from made, generate_series(1, 4) seq");
    stage.query("vacuum analyze executions, execution_inputs, execution_results, attempts, events");
}
}

std::vector<Figure> beside_retention(const StageSettings& settings, platform::LocalPostgres& postgres,
                                     std::int64_t count) {
    double rates[2] = {0, 0};
    double removed = 0;
    for (const bool removes : {false, true}) {
        Stage stage(alone(settings), postgres, Receiver::own, 1);
        put_type(stage, settings.in_flight);
        insert_old(stage, 4 * count);
        insert_rows(stage, count);
        const double seconds = in_child([&] {
            InProcess& hub = InProcess::make(settings, stage.database(), removes);
            hub.run(count, 0);
            return hub.seconds();
        });
        rates[removes ? 1 : 0] = static_cast<double>(count) / seconds;
        if (removes) removed = std::stod(stage.query("select executions from retention")) / seconds;
    }
    return {{"lifecycle_beside_old", rates[0], "1/s", "with " + std::to_string(4 * count) + " that ended long ago"},
            {"lifecycle_beside_retention", rates[1], "1/s", "while they are removed"},
            {"retention_removed", removed, "1/s", "executions with all that belongs to them"},
            {"lifecycle_retention_ratio", rates[1] / rates[0], "", ""}};
}

std::vector<Figure> claim(const StageSettings& settings, platform::LocalPostgres& postgres, std::int64_t shallow,
                          std::int64_t deep) {
    const double first = turn_at(settings, postgres, shallow);
    const double second = turn_at(settings, postgres, deep);
    return {{"claim_shallow", first, "ms", "a turn that grants 50 of " + std::to_string(shallow)},
            {"claim_deep", second, "ms", "a turn that grants 50 of " + std::to_string(deep)},
            {"claim_deep_ratio", second / first, "", ""}};
}

std::vector<Figure> claim_beside_snapshot(const StageSettings& settings, platform::LocalPostgres& postgres) {
    const auto fifty = turns_of_50(settings);
    Stage stage(fifty, postgres, Receiver::own, 1);
    put_type(stage, fifty.in_flight);
    insert_rows(stage, 200'000);
    platform::Connection reader(stage.database(), nullptr);
    double fresh = 0;
    double later = 0;
    reader.autocommit([](platform::Tx& tx) { tx.run("set idle_in_transaction_session_timeout = 0"); });
    reader.transact([&](platform::Tx& tx) {
        tx.run("declare held cursor for select * from executions");
        tx.run("fetch held");
        fresh = turn_of_50(stage, fifty, 200'000);
        in_child([&] {
            InProcess::make(settings, stage.database()).run(60'000, 0);
            return 0.0;
        });
        later = turn_of_50(stage, fifty, 200'000);
    });
    return {{"claim_fresh", fresh, "ms", "a turn that grants 50 of 200000"},
            {"claim_beside_snapshot", later, "ms", "after 60000 completions while another session holds a snapshot"},
            {"claim_beside_snapshot_ratio", later / fresh, "", ""}};
}

}
