#include "tests/support/pgbouncer.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/hub.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {

namespace fs = std::filesystem;

PgBouncer::PgBouncer(const TestDatabase& database, int sessions) : database_name_(database.name()) {
    directory_ = temporary_directory("pooler");
    // It refuses to run as root, and whoever it runs as has to get in.
    fs::permissions(directory_, fs::perms::all);
    std::ofstream(directory_ + "/pgbouncer.ini") << "[databases]\n* = host=" << database.sockets()
                                                 << " port=5432 user=impresario\n[pgbouncer]\nlisten_port = 5432\n"
                                                 << "unix_socket_dir = " << directory_ << "\nunix_socket_mode = 0777\n"
                                                 << "auth_type = any\npool_mode = transaction\nmax_client_conn = 200\n"
                                                 << "default_pool_size = " << sessions << "\n";
    platform::ProcessSettings settings;
    settings.command = {"/usr/sbin/pgbouncer", directory_ + "/pgbouncer.ini"};
    settings.log_file = directory_ + "/pgbouncer.log";
    settings.directory = "/";
    if (geteuid() == 0) settings.user = "postgres";
    process_ = std::make_unique<platform::Process>(std::move(settings));
    if (eventually([this] { return process_->poll() || answers(); }) && !process_->poll()) return;
    std::stringstream said;
    said << std::ifstream(directory_ + "/pgbouncer.log").rdbuf();
    throw std::runtime_error("pgbouncer did not start; scripts/bootstrap installs it:\n" + said.str());
}

PgBouncer::~PgBouncer() {
    process_.reset();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

std::string PgBouncer::url() const { return "host=" + directory_ + " user=impresario dbname=" + database_name_; }

bool PgBouncer::answers() const {
    try {
        platform::DatabaseSettings settings;
        settings.url = domain::Secret(url());
        settings.pooled = true;
        platform::Connection(settings, nullptr).autocommit([](platform::Tx& tx) { tx.run("select 1"); });
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

}
