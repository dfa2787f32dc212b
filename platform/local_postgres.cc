#include "platform/local_postgres.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "platform/database.h"
#include "platform/process.h"

namespace impresario::platform {

namespace fs = std::filesystem;

namespace {

/// Whom the cluster belongs to when we are root: postgres where that exists, else nobody.
std::string unprivileged_user() {
    if (geteuid() != 0) return {};
    return getpwnam("postgres") ? "postgres" : "nobody";
}

}

std::string LocalPostgres::find_program(const std::string& name) {
    std::string best;
    int best_version = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
        const int version = std::atoi(entry.path().filename().c_str());
        const auto program = entry.path() / "bin" / name;
        if (version > best_version && fs::exists(program, ignored)) {
            best_version = version;
            best = program.string();
        }
    }
    return best.empty() ? name : best;
}

std::string LocalPostgres::run(const std::vector<std::string>& command) const {
    ProcessSettings process;
    process.command = command;
    process.user = unprivileged_user();
    process.directory = "/";
    const auto finished = run_command(std::move(process));
    if (finished.status != 0)
        throw std::runtime_error(
            command.front() + " failed (" + std::to_string(finished.status) + "): " + finished.output +
            (finished.status == 127 ? "PostgreSQL 15 is not installed; scripts/bootstrap installs it" : ""));
    return finished.output;
}

std::string LocalPostgres::home_of(const std::string& directory) {
    const std::string absolute = fs::absolute(directory).lexically_normal().string();
    const std::string user = unprivileged_user();
    if (user.empty()) return absolute;
    ProcessSettings probe;
    probe.command = {"test", "-x", fs::path(absolute).parent_path().string()};
    probe.user = user;
    probe.directory = "/";
    if (run_command(probe).status == 0) return absolute;
    return "/var/tmp/impresario-" + std::to_string(std::hash<std::string>{}(absolute) % 100000000);
}

LocalPostgres::LocalPostgres(LocalPostgresSettings settings) : settings_(std::move(settings)) {
    fs::create_directories(settings_.directory);
    home_ = home_of(settings_.directory);
    data_ = home_ + "/data";
    sockets_ = home_ + "/run";
    // A Unix socket's path has room for 107 bytes, its name included.
    if (sockets_.size() > 85)
        sockets_ = "/tmp/impresario-" + std::to_string(std::hash<std::string>{}(home_) % 100000000);
    fs::create_directories(home_);
    fs::create_directories(sockets_);
    std::error_code ignored;
    if (home_ != fs::absolute(settings_.directory).lexically_normal().string() &&
        !fs::exists(settings_.directory + "/postgres", ignored))
        fs::create_directory_symlink(home_, settings_.directory + "/postgres", ignored);
    const std::string user = unprivileged_user();
    if (!user.empty()) {
        const passwd* entry = getpwnam(user.c_str());
        for (const auto& path : {home_, sockets_})
            if (chown(path.c_str(), entry->pw_uid, entry->pw_gid) != 0)
                throw std::runtime_error("cannot give " + path + " to " + user);
    }
    chmod(sockets_.c_str(), 0700);
    if (!fs::exists(data_ + "/PG_VERSION")) {
        run({find_program("initdb"), "-D", data_, "-U", "impresario", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
             "--no-instructions"});
        std::ofstream conf(home_ + "/conf.tmp");
        conf << "listen_addresses = '" << (settings_.port > 0 ? "127.0.0.1" : "") << "'\n";
        if (settings_.port > 0) conf << "port = " << settings_.port << "\n";
        conf << "unix_socket_directories = '" << sockets_ << "'\n"
             << "max_connections = 100\n"
             << "shared_buffers = 128MB\n"
             << "log_min_messages = warning\n";
        for (const auto& line : settings_.configuration) conf << line << "\n";
        conf.close();
        std::ifstream written(home_ + "/conf.tmp");
        std::string text((std::istreambuf_iterator<char>(written)), std::istreambuf_iterator<char>());
        std::ofstream(data_ + "/postgresql.conf", std::ios::app) << text;
        fs::remove(home_ + "/conf.tmp");
    }
    start();
}

void LocalPostgres::start() {
    // A cluster left behind by a process that was killed is taken over as it is.
    ProcessSettings status;
    status.command = {find_program("pg_ctl"), "-D", data_, "status"};
    status.user = unprivileged_user();
    status.directory = "/";
    if (run_command(status).status != 0)
        run({find_program("pg_ctl"), "-D", data_, "-l", home_ + "/postgres.log", "-w", "-t", "60", "start"});
    running_ = true;
}

bool LocalPostgres::alive() const {
    pid_t pid = 0;
    std::ifstream(data_ + "/postmaster.pid") >> pid;
    return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

void LocalPostgres::stop(const std::string& mode) {
    if (!std::exchange(running_, false)) return;
    run({find_program("pg_ctl"), "-D", data_, "-w", "-t", "30", "-m", mode, "stop"});
}

LocalPostgres::~LocalPostgres() {
    try {
        stop("fast");
    } catch (const std::exception&) {
        // Nothing waits for the answer any more.
    }
}

domain::Secret LocalPostgres::url(const std::string& database) const {
    return domain::Secret("host=" + sockets_ + (settings_.port > 0 ? " port=" + std::to_string(settings_.port) : "") +
                          " user=impresario dbname=" + database);
}

void LocalPostgres::create_database(const std::string& name) const {
    DatabaseSettings settings;
    settings.url = url("postgres");
    Connection connection(settings, nullptr);
    bool exists = false;
    connection.autocommit(
        [&](Tx& tx) { exists = !tx.run("select 1 from pg_database where datname = $1", Params().add(name)).empty(); });
    if (!exists) connection.autocommit([&](Tx& tx) { tx.run("create database \"" + name + "\""); });
}

void LocalPostgres::remove(const std::string& directory) {
    std::error_code ignored;
    const std::string home = home_of(directory);
    fs::remove_all(home + "/data", ignored);
    fs::remove_all(home + "/run", ignored);
    fs::remove(home + "/postgres.log", ignored);
    fs::remove(directory + "/postgres", ignored);
}

}
