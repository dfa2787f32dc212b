// The functions and the table of seed 003 as a psql user sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/execution.h"
#include "orchestrator/decide.h"
#include "subworkflows/needs_json.h"
#include "subworkflows/workflow_type_json.h"
#include "tests/support/database.h"

namespace impresario {
namespace sql_api_test {

using platform::StatementRefused;
using platform::Tx;
using testing::TestDatabase;

using ::testing::HasSubstr;

class SqlApi : public ::testing::Test {
  protected:
    TestDatabase db_;
    std::string enqueue(const std::string& type = "seo_monitor", int priority = 50, const std::string& more = "") {
        return db_.value("select enqueue_workflow_task('" + type + "', " + std::to_string(priority) + ", '{\"a\": 1}'" +
                         more + ")");
    }
    std::string update(const std::string& id, const std::string& status) {
        return db_.value("select update_execution_status('" + id + "', '" + status + "')");
    }
    std::string column(const std::string& id, const std::string& name) {
        return db_.value("select " + name + " from workflow_orchestration where execution_id = '" + id + "'");
    }
    int events(const std::string& id) {
        return std::stoi(db_.value("select count(*) from events where stream_id = '" + id + "'"));
    }
};

TEST_F(SqlApi, EverythingOf003HasItsNameAndSignature) {
    for (const auto* signature :
         {"enqueue_workflow_task(text, integer, jsonb, timestamptz)", "orchestrate_next_execution()",
          "update_execution_status(uuid, text, jsonb, jsonb)", "check_resource_availability()",
          "record_resource_usage(uuid, text, text, integer, numeric)", "get_next_priority_task()",
          "prevent_starvation()"})
        EXPECT_NE(db_.value("select to_regprocedure('" + std::string(signature) + "')"), "") << signature;
    const auto columns = [&](const std::string& table) {
        return db_.value(
            "select string_agg(column_name, ',' order by ordinal_position) from information_schema.columns where "
            "table_name = '" +
            table + "'");
    };
    EXPECT_TRUE(columns("workflow_orchestration")
                    .starts_with("execution_id,workflow_type,status,priority,scheduled_at,started_at,completed_at,"
                                 "timeout_at,context,input_data,result_data,error_data,"
                                 "parent_execution_id,batch_id,retry_count,max_retries,next_retry_at,duration_ms,cost_"
                                 "usd,items_processed,created_at,updated_at"));
    EXPECT_TRUE(columns("workflow_resource_usage")
                    .starts_with("id,execution_id,resource_type,provider,usage_amount,cost_usd,timestamp"));
    EXPECT_EQ(columns("orchestrator_metrics"), "id,metric_type,metric_value,metadata,timestamp");
    const auto returns = [&](const std::string& name) {
        return db_.value("select pg_get_function_result(oid) from pg_proc where proname = '" + name + "' limit 1");
    };
    EXPECT_EQ(returns("orchestrate_next_execution"),
              "TABLE(execution_id uuid, workflow_type text, priority integer, input_data jsonb, should_execute "
              "boolean, reason text)");
    EXPECT_EQ(
        returns("get_next_priority_task"),
        "TABLE(execution_id uuid, workflow_type text, priority_score integer, age_minutes integer, input_data jsonb)");
    EXPECT_EQ(returns("check_resource_availability"),
              "TABLE(resource_type text, available boolean, current_usage integer, limit_value integer, reset_time "
              "timestamp with time zone)");
    EXPECT_EQ(returns("prevent_starvation"), "integer");
}

// The table of moves is written twice, in C++ and in SQL; this keeps the two equal.
TEST_F(SqlApi, AllowsTheSameMovesAsTheHub) {
    for (int from = 0; from < domain::kStatuses; ++from)
        for (int to = 0; to < domain::kStatuses; ++to) {
            const auto a = static_cast<domain::Status>(from);
            const auto b = static_cast<domain::Status>(to);
            EXPECT_EQ(
                db_.value("select execution_may_move('" + std::string(name(a)) + "', '" + std::string(name(b)) + "')"),
                domain::may_move(a, b) ? "t" : "f")
                << name(a) << " -> " << name(b);
        }
}

TEST_F(SqlApi, FingerprintsAreTheSameAsTheHubs) {
    const auto id = enqueue();
    db_.run("update executions set status = 'dispatching', ready = false where execution_id = '" + id + "'");
    db_.value("select update_execution_status('" + id +
              "', 'dead', null, '{\"message\": \"user 123 gone, see deadbeef-1234\"}')");
    EXPECT_EQ(db_.value("select fingerprint from dead_letters"),
              orchestrator::error_fingerprint("seo_monitor", "sql", "user 123 gone, see deadbeef-1234"));
}

TEST_F(SqlApi, EnqueuesWithAnEvent) {
    const auto id = enqueue("content_pipeline", 80);
    EXPECT_EQ(column(id, "status"), "queued");
    EXPECT_EQ(column(id, "input_data"), "{\"a\": 1}");
    EXPECT_EQ(events(id), 1);
    const auto later = enqueue("seo_monitor", 50, ", now() + interval '1 hour'");
    EXPECT_EQ(db_.value("select ready from executions where execution_id = '" + later + "'"), "f");
    EXPECT_THROW(enqueue("no_such_type"), StatementRefused);
    EXPECT_THROW(enqueue("seo_monitor", 101), StatementRefused);
    EXPECT_EQ(db_.value("select count(*) from executions"), "2") << "bad input stores nothing";
}

TEST_F(SqlApi, StatusesObeyTheTable) {
    const auto id = enqueue();
    for (const auto* status :
         {"completed", "failed", "dead", "retrying", "running", "dispatching", "queued", "nonsense"})
        EXPECT_EQ(update(id, status), "f") << status;
    EXPECT_EQ(column(id, "status"), "queued");
    EXPECT_EQ(db_.value("select count(*) from events where stream_id = '" + id + "' and type = 'execution.refused'"),
              "8")
        << "refused and recorded";
    EXPECT_EQ(update(id, "analyzing"), "t");
    EXPECT_EQ(db_.value("select ready from executions where execution_id = '" + id + "'"), "f")
        << "hidden from the hub";
    EXPECT_EQ(update(id, "queued"), "t");
    EXPECT_EQ(update(id, "cancelled"), "t");
    EXPECT_EQ(update(id, "queued"), "f");
    EXPECT_EQ(update("00000000-0000-0000-0000-000000000000", "cancelled"), "f");
    EXPECT_EQ(db_.value("select max(seq) = count(*) and min(seq) = 1 from events where stream_id = '" + id + "'"), "t")
        << "numbers without gaps";
}

TEST_F(SqlApi, AnEndClosesTheAttempt) {
    const auto id = enqueue();
    db_.run(
        "update executions set status = 'running', ready = false, attempts = 1, attempt_id = gen_random_uuid(), "
        "attempt_state = 'accepted', granted_at = now(), timeout_at = now() + interval '1 minute', started_at = now() "
        "where execution_id = '" +
        id + "'");
    EXPECT_EQ(db_.value("select update_execution_status('" + id + "', 'completed', '{\"r\": 2}')"), "t");
    EXPECT_EQ(column(id, "result_data"), "{\"r\": 2}");
    EXPECT_EQ(db_.value("select outcome from attempts where execution_id = '" + id + "'"), "sql");
    EXPECT_EQ(update(id, "failed"), "f");
}

TEST_F(SqlApi, WhatTheAttemptHadCostSoFarIsSpent) {
    const auto id = enqueue();
    db_.run(
        "update executions set status = 'running', ready = false, attempts = 1, attempt_id = gen_random_uuid(), "
        "attempt_state = 'accepted', attempt_cost_microusd = 300000, cost_microusd = 50000 where execution_id = '" +
        id + "'");
    EXPECT_EQ(update(id, "cancelled"), "t");
    EXPECT_EQ(column(id, "cost_usd"), "0.350000");
    EXPECT_EQ(db_.value("select cost_microusd from attempts where execution_id = '" + id + "'"), "300000");
    EXPECT_EQ(db_.value("select sum(cost_usd) from workflow_resource_usage where execution_id = '" + id + "'"),
              "0.300000");
    EXPECT_EQ(db_.value("select attempt_cost_microusd is null from executions where execution_id = '" + id + "'"), "t");
}

TEST_F(SqlApi, ATimeThatIsNoneIsRefused) {
    EXPECT_THROW(db_.run("select enqueue_workflow_task('seo_monitor', 50, '{}', 'infinity')"), StatementRefused);
    const auto id = enqueue();
    EXPECT_THROW(
        db_.run("update workflow_orchestration set scheduled_at = '-infinity' where execution_id = '" + id + "'"),
        StatementRefused);
}

TEST_F(SqlApi, AChangedRowLeavesItsGate) {
    const auto id = enqueue();
    db_.run(
        "update executions set ready = false, gate = '{\"kind\": \"key_concurrency\"}', gate_since = now() "
        "where execution_id = '" +
        id + "'");
    db_.run("update workflow_orchestration set priority = 77 where execution_id = '" + id + "'");
    EXPECT_EQ(db_.value("select ready and gate is null and gate_since is null from executions where execution_id = '" +
                        id + "'"),
              "t");
}

TEST_F(SqlApi, TheViewTakesPlainInsertsAndUpdates) {
    const auto id = db_.value(
        "insert into workflow_orchestration (workflow_type, status, scheduled_at, input_data) values ('seo_monitor', "
        "'queued', now(), '{}') returning execution_id");
    EXPECT_EQ(column(id, "priority"), "50");
    EXPECT_EQ(column(id, "max_retries"), "3");
    EXPECT_EQ(events(id), 1);
    db_.run("update workflow_orchestration set priority = 77, input_data = '{\"b\": 2}' where execution_id = '" + id +
            "'");
    EXPECT_EQ(column(id, "priority"), "77");
    EXPECT_EQ(column(id, "input_data"), "{\"b\": 2}");
    EXPECT_EQ(events(id), 2);
    EXPECT_THROW(db_.run("update workflow_orchestration set status = 'completed' where execution_id = '" + id + "'"),
                 StatementRefused);
    EXPECT_THROW(db_.run("update workflow_orchestration set retry_count = 9 where execution_id = '" + id + "'"),
                 StatementRefused)
        << "refused by name, not lost in silence";
    EXPECT_THROW(db_.run("delete from workflow_orchestration where execution_id = '" + id + "'"), StatementRefused);
    EXPECT_THROW(db_.run("insert into workflow_orchestration (workflow_type, status, scheduled_at) values "
                         "('seo_monitor', 'running', now())"),
                 StatementRefused);
    db_.run("update workflow_orchestration set status = 'cancelled' where execution_id = '" + id + "'");
    EXPECT_EQ(column(id, "status"), "cancelled");
    const auto history = db_.value(
        "insert into workflow_orchestration (workflow_type, status, scheduled_at, completed_at, result_data, cost_usd) "
        "values ('seo_monitor', 'completed', now(), now(), '{\"x\": 1}', 0.0000001) returning execution_id");
    EXPECT_EQ(column(history, "result_data"), "{\"x\": 1}");
    EXPECT_EQ(column(history, "cost_usd"), "0.000001") << "rounded up, never lost";
}

TEST_F(SqlApi, NextTaskIsTheHubsNext) {
    enqueue("seo_monitor", 50);
    const auto urgent = enqueue("content_pipeline", 90);
    const auto low = enqueue("revenue_optimizer", 10);
    EXPECT_EQ(db_.value("select execution_id from get_next_priority_task()"), urgent);
    EXPECT_EQ(db_.value("select priority_score from get_next_priority_task()"), "900");
    EXPECT_EQ(db_.value("select execution_id from orchestrate_next_execution()"), urgent);
    db_.run(
        "insert into pauses (organization_id, workflow_type, reason) values ('default', 'content_pipeline', 'deploy')");
    EXPECT_EQ(db_.value("select priority_score from get_next_priority_task()"), "500");
    EXPECT_EQ(db_.value("select should_execute::text || ' ' || reason from orchestrate_next_execution() where "
                        "workflow_type = 'content_pipeline'"),
              "false paused: deploy");
    EXPECT_EQ(db_.value("select count(*) from orchestrate_next_execution()"), "3");
    // Beyond max_wait it goes first, whatever its score.
    db_.run(
        "update executions set ready_at = now() - interval '5 hours', created_at = now() - interval '5 hours' where "
        "execution_id = '" +
        low + "'");
    EXPECT_EQ(db_.value("select execution_id from get_next_priority_task()"), low);
    EXPECT_EQ(db_.value("select prevent_starvation()"), "1");
    EXPECT_EQ(db_.value("select prevent_starvation()"), "0") << "only the newly marked are counted";
}

TEST_F(SqlApi, UsageIsRecordedOnceByItsId) {
    const auto id = enqueue();
    for (int i = 0; i < 2; ++i)
        db_.value("select record_resource_usage('" + id + "', 'api_call', 'gemini', 3, 0.01, 'u-1')");
    db_.value("select record_resource_usage('" + id + "', 'database_query', null, 3, 0.0000001)");
    EXPECT_EQ(db_.value("select count(*) from workflow_resource_usage"), "2");
    EXPECT_EQ(db_.value("select sum(cost_usd) from workflow_resource_usage"), "0.010001");
    EXPECT_THROW(db_.value("select record_resource_usage('" + id + "', 'api_call', 'gemini', 3, -1)"),
                 StatementRefused);
}

TEST_F(SqlApi, WhatIsWrongWithAUsageIsNamed) {
    const auto id = enqueue();
    const auto refused = [&](const std::string& arguments) {
        try {
            db_.value("select record_resource_usage('" + id + "', " + arguments + ")");
        } catch (const StatementRefused& refusal) {
            return std::string(refusal.what());
        }
        return std::string("taken");
    };
    EXPECT_THAT(refused("'api_call', 'gemini', -3, 0"), HasSubstr("p_usage_amount must not be negative: -3"));
    EXPECT_THAT(refused("'api_call', 'gemini', null, 0"), HasSubstr("p_usage_amount is missing"));
    EXPECT_THAT(refused("null, 'gemini', 1, 0"), HasSubstr("p_resource_type is missing"));
    EXPECT_THAT(refused("'', 'gemini', 1, 0"), HasSubstr("p_resource_type is missing"));
    EXPECT_THAT(refused("'api_call', 'gemini', 1, 'NaN'"), HasSubstr("p_cost_usd must be from 0"));
    EXPECT_THAT(refused("'api_call', 'gemini', 1, 'Infinity'"), HasSubstr("p_cost_usd must be from 0"));
    EXPECT_THAT(refused("'api_call', 'gemini', 1, 1e13"), HasSubstr("p_cost_usd must be from 0"));
    EXPECT_EQ(db_.value("select count(*) from workflow_resource_usage"), "0");
    EXPECT_EQ(refused("'api_call', null, 1, null"), "taken");
}

TEST_F(SqlApi, AvailabilityNamesTheLimits) {
    db_.run("update workflow_types set max_concurrency = 2 where name = 'seo_monitor'");
    EXPECT_EQ(db_.value("select available::text || ' ' || current_usage || '/' || limit_value from "
                        "check_resource_availability() where resource_type = 'concurrency:seo_monitor'"),
              "true 0/2");
    EXPECT_EQ(
        db_.value("select limit_value from check_resource_availability() where resource_type = 'database_connections'"),
        "20");
}

TEST_F(SqlApi, AnEndpointIsNotAvailableWhileItIsHeldOrItsBreakerIsOpen) {
    db_.run("insert into workflow_types (organization_id, name) values ('default', 'two')");
    db_.run(
        "insert into endpoints (organization_id, workflow_type, url) values ('default', 'two', 'http://a'), "
        "('default', 'two', 'http://b')");
    const auto said = [&] {
        return db_.value(
            "select available::text || ' ' || current_usage || '/' || limit_value || ' ' || "
            "coalesce(to_char(reset_time - date_trunc('year', now()), 'DD'), '-') from "
            "check_resource_availability() where resource_type = 'endpoint:two'");
    };
    const auto set = [&](const std::string& url, const std::string& what) {
        db_.run("update endpoints set " + what + " where url = 'http://" + url + "'");
    };
    EXPECT_EQ(said(), "true 0/2 -");
    const std::string day = "date_trunc('year', now()) + interval '400 days'";
    set("a", "breaker = 'open'");
    EXPECT_EQ(said(), "true 1/2 -");
    set("b", "breaker = 'open', breaker_until = " + day);
    EXPECT_EQ(said(), "false 2/2 400");
    set("b", "held_until = " + day + " + interval '1 day'");
    EXPECT_EQ(said(), "false 2/2 401") << "what lasts longer";
    set("b", "breaker = 'half_open', breaker_until = null, held_until = now() - interval '1 day'");
    EXPECT_EQ(said(), "true 1/2 -");
}

TEST_F(SqlApi, AConcurrencyKeyIsReadByPointer) {
    db_.run("update workflow_types set concurrency_key = '/customer/a~1b' where name = 'seo_monitor'");
    const auto id = db_.value("select enqueue_workflow_task('seo_monitor', 50, '{\"customer\": {\"a/b\": \"acme\"}}')");
    EXPECT_EQ(db_.value("select concurrency_key from executions where execution_id = '" + id + "'"), "acme");
}

TEST_F(SqlApi, WhatAnInputNeedsIsTakenAsTheHubTakesIt) {
    const auto type = subworkflows::parse_workflow_type(
        R"({"call_estimates":[{"provider":"p","calls":{"from":"/input_data/a~1b","times":"1.5"},"tokens":{"from":"/t/1","otherwise":40}},
            {"provider":"q","cost_usd":{"from":"/c","times":"0.000003","otherwise":"0.5"},"items":4}]})",
        {"default", "seo_monitor"}, nullptr);
    ASSERT_TRUE(type);
    const auto estimates = subworkflows::call_estimates_json({type->needs, type->from_input});
    for (const std::string input :
         {R"({"a/b":[1,2,3]})", R"({"a/b":0.0000001,"t":[1,7]})", R"({"a/b":1e3,"t":{"1":9},"c":1e9})",
          R"({"a/b":0,"t":[1],"c":[]})", R"({"a/b":666666666.6,"t":[0,[1,2]],"c":"x"})", R"({"a/b":-0})",
          R"({"a/b":666666667})", R"({"a/b":-0.5})", R"({"a/b":"3"})", R"({"a/b":1e13})", "{}", "[]", "null",
          R"({"a/b":1,"t":[1,-1]})", R"({"a/b":1,"t":null,"c":-0.0000001})", R"({"a/b":1,"c":333333333333.333334})",
          R"({"a/b":1,"c":0.1})"}) {
        const auto here = subworkflows::need_amounts(type->from_input, input);
        if (here) {
            EXPECT_EQ(db_.value("select needs_of_input('" + input + "', '" + estimates + "')"),
                      domain::need_amounts_text(*here))
                << input;
        } else {
            EXPECT_THROW(db_.value("select needs_of_input('" + input + "', '" + estimates + "')"), StatementRefused)
                << input << " " << here.error().what;
        }
    }
    // It is asked of what is to run, and not of history.
    db_.run("update workflow_types set call_estimates = '" + estimates + "' where name = 'seo_monitor'");
    EXPECT_THROW(enqueue(), StatementRefused);
    const auto insert = [&](const std::string& status, const std::string& input) {
        db_.run("insert into workflow_orchestration (workflow_type, status, input_data) values ('seo_monitor', '" +
                status + "', '" + input + "')");
    };
    EXPECT_THROW(insert("queued", "{}"), StatementRefused);
    insert("completed", "{}");
    insert("queued", R"({"a/b":2})");
    EXPECT_EQ(db_.value("select string_agg(coalesce(need_amounts, 'none'), ';' order by status) from executions"),
              "none;3 calls p\n40 tokens p\n500000 cost_usd q");
    EXPECT_EQ(db_.value("select coalesce(needs_of_input('{}', '[{\"provider\": \"p\", \"calls\": 3}]'), 'null')"),
              "null");
}

TEST_F(SqlApi, MigrationsGoDownAndUpAgain) {
    // The whole way is walked by the cluster fixture (down to 0, up to the latest); here only that down leaves nothing.
    EXPECT_EQ(db_.value("select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname "
                        "= 'public' and c.relkind in ('r', 'v') and c.relname like 'workflow_%'"),
              "3");
}

}
}
