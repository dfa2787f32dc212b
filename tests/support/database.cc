#include "tests/support/database.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

namespace impresario::testing {

namespace {
platform::DatabaseSettings settings(const std::string& url) {
    platform::DatabaseSettings made;
    made.url = domain::Secret(url);
    made.application_name = "test";
    made.statement_timeout = std::chrono::milliseconds{60000};
    return made;
}

/// Where the cluster that the fixture started has its socket.
std::string cluster_sockets() {
    namespace fs = std::filesystem;
    const std::string near = IMPRESARIO_TEST_CLUSTER;
    for (const auto& home : {near, near + "/postgres"})
        if (fs::exists(home + "/run/.s.PGSQL.5432")) return home + "/run";
    for (const auto& entry : fs::directory_iterator("/tmp"))
        if (entry.path().filename().string().starts_with("impresario-") && fs::exists(entry.path() / ".s.PGSQL.5432"))
            return entry.path().string();
    throw std::runtime_error("no test cluster runs; start it with build/dev/tests/test_cluster start");
}
}

std::string TestDatabase::admin_url(const std::string& database) const {
    return "host=" + sockets_ + " user=impresario dbname=" + database;
}

TestDatabase::TestDatabase(const std::string& sockets) : sockets_(sockets.empty() ? cluster_sockets() : sockets) {
    static std::atomic<int> count{0};
    name_ = "test_" + std::to_string(getpid()) + "_" + std::to_string(count++);
    // Copying the template fails while another test copies it: wait for it by an advisory lock.
    platform::Connection admin(settings(admin_url("postgres")), nullptr);
    admin.autocommit([&](platform::Tx& tx) {
        tx.run("select pg_advisory_lock(4711)");
        tx.run("create database " + name_ + " template impresario_template");
        tx.run("select pg_advisory_unlock(4711)");
    });
}

TestDatabase::~TestDatabase() {
    try {
        platform::Connection admin(settings(admin_url("postgres")), nullptr);
        admin.autocommit([&](platform::Tx& tx) { tx.run("drop database if exists " + name_ + " with (force)"); });
    } catch (const std::exception&) {
        // The cluster goes with the run.
    }
}

domain::Secret TestDatabase::url() const { return domain::Secret(admin_url(name_)); }

void TestDatabase::transact(const std::function<void(platform::Tx&)>& body) const {
    platform::Connection connection(settings(admin_url(name_)), nullptr);
    connection.transact(body);
}

std::string TestDatabase::value(const std::string& sql) const {
    std::string found;
    transact([&](platform::Tx& tx) {
        const auto rows = tx.run(sql);
        if (!rows.empty() && !rows.null(0, 0)) found = std::string(rows.text(0, 0));
    });
    return found;
}

void TestDatabase::shut() const {
    platform::Connection admin(settings(admin_url("postgres")), nullptr);
    admin.autocommit([&](platform::Tx& tx) {
        tx.run("alter database " + name_ + " allow_connections false");
        tx.run("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + name_ + "'");
    });
}

void TestDatabase::open() const {
    platform::Connection admin(settings(admin_url("postgres")), nullptr);
    admin.autocommit([&](platform::Tx& tx) { tx.run("alter database " + name_ + " allow_connections true"); });
}

void TestDatabase::run(const std::string& sql) const {
    transact([&](platform::Tx& tx) { tx.run(sql); });
}

}
