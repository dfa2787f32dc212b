#include "tests/support/own_cluster.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "migrations/migrations.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {

namespace fs = std::filesystem;

namespace {
/// From then on this thread and its children see mounts of their own, which go with them.
bool private_mounts() {
    static const bool made =
        unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return made;
}
}

bool OwnCluster::room_can_be_limited() {
    if (geteuid() != 0 || !private_mounts()) return false;
    const auto directory = temporary_directory("own");
    const bool can = mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") == 0;
    if (can) umount2(directory.c_str(), MNT_DETACH);
    fs::remove_all(directory);
    return can;
}

OwnCluster::OwnCluster(int room_mib) : directory_(temporary_directory("own")) {
    if (room_mib > 0) {
        const auto size = "size=" + std::to_string(room_mib) + "m";
        if (mount("tmpfs", directory_.c_str(), "tmpfs", 0, size.c_str()) != 0)
            throw std::runtime_error("no file system could be mounted");
        mounted_ = true;
    }
    chmod(directory_.c_str(), 0755);
    postgres_ = std::make_unique<platform::LocalPostgres>(platform::LocalPostgresSettings{
        directory_ + "/cluster", {"max_wal_size = 64MB", "min_wal_size = 32MB", "shared_buffers = 32MB"}, 0});
    postgres_->create_database("impresario_template");
    platform::DatabaseSettings settings;
    settings.url = postgres_->url("impresario_template");
    platform::Connection connection(settings, nullptr);
    const auto migrator = migrations::all();
    migrator.migrate(connection, migrator.latest(), [](std::string_view, const platform::Migration&) {});
}

OwnCluster::~OwnCluster() {
    empty();
    try {
        postgres_->stop("immediate");
    } catch (const std::exception&) {
        // It had stopped by itself.
    }
    postgres_.reset();
    platform::LocalPostgres::remove(directory_ + "/cluster");
    if (mounted_) umount2(directory_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

std::string OwnCluster::sockets() const {
    const auto url = postgres_->url("postgres").reveal();
    const auto begin = url.find("host=") + 5;
    return url.substr(begin, url.find(' ', begin) - begin);
}

void OwnCluster::fill() {
    std::ofstream file(directory_ + "/ballast", std::ios::binary);
    const std::string piece(4096, 'x');
    while (file.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) continue;
}

void OwnCluster::empty() {
    std::error_code ignored;
    fs::remove(directory_ + "/ballast", ignored);
}

}
