#pragma once
// What the tests of several nodes ask and say.

#include "tests/support/hub.h"

namespace impresario::testing {

/// The node that this process is.
inline std::string node_of(const TestDatabase& database, const HubProcess& process) {
    return database.value("select node from nodes where name like '%:" + std::to_string(process.pid()) + "'");
}

/// The node that leads, "" where the lease has run out.
inline std::string leader(const TestDatabase& database) {
    return database.value("select node from scheduler where lease_until > clock_timestamp()");
}

inline Reply ask(const HubProcess& node, const std::string& key, const std::string& method, const std::string& path,
                 const Json& body = nullptr) {
    return request(node.port(), method, path, {{"authorization", "Bearer " + key}}, body.is_null() ? "" : body.dump());
}

/// A callback to whichever node, as a balancer would hand it on.
inline Reply call_back(const HubProcess& node, const Asked& asked, const Json& body) {
    return request(node.port(), "POST", "/v1/callbacks/" + asked.execution_id(),
                   {{"authorization", "Bearer " + asked.token()}}, body.dump());
}

/// Runs work of `type`, which ends by itself, until `count` nodes have had some: the scheduler reads once a second who
/// is there.
inline bool nodes_work(const HubFixture& hub, const HubProcess& through, const std::string& type, int count) {
    return eventually(
        [&] {
            Json batch = Json::array();
            for (int i = 0; i < 6; ++i) batch.push_back({{"workflow_type", type}});
            if (ask(through, hub.key, "POST", "/v1/executions/batch", {{"executions", batch}}).status != 201)
                return false;
            return eventually([&] {
                       return hub.database.value("select count(*) from executions where workflow_type = '" + type +
                                                 "' and status <> 'completed'") == "0";
                   }) &&
                   std::stoi(hub.database.value("select count(distinct a.node) from attempts a join executions e using "
                                                "(execution_id) where e.workflow_type = '" +
                                                type + "'")) >= count;
        },
        40);
}

/// Whether somebody waits for a lock in a statement that has these words in it.
inline bool waits_in(const TestDatabase& database, const std::string& words) {
    return eventually([&] {
        return database.value(
                   "select count(*) from pg_stat_activity where datname = current_database() and pid <> "
                   "pg_backend_pid() and wait_event_type = 'Lock' and query like '%" +
                   words + "%'") != "0";
    });
}

}
