#pragma once
// Child processes.

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace impresario::platform {

struct ProcessSettings {
    std::vector<std::string> command;
    /// Added to this process's environment.
    std::vector<std::pair<std::string, std::string>> environment;
    /// Standard output and error go here (appended); empty: inherited.
    std::string log_file;
    /// Run as this user; only root can.
    std::string user;
    std::string directory;
    /// Receives SIGTERM when its parent dies.
    bool die_with_parent = true;
};

/// A child that is ended with its handle: SIGTERM, then SIGKILL after five seconds.
class Process {
  public:
    /// Throws std::runtime_error when it cannot be started.
    explicit Process(ProcessSettings settings);
    ~Process();
    Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}
    Process& operator=(Process&&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number);
    /// Its exit code (128 + signal when killed), nullopt while it runs.
    std::optional<int> poll();
    int wait();

  private:
    pid_t pid_ = -1;
    std::optional<int> status_;
};

/// Path of a program that is installed beside this one.
std::string sibling_program(const std::string& name);

struct Finished {
    int status = 0;
    std::string output;
};
/// Runs a command to its end and returns what it printed on both streams.
Finished run_command(ProcessSettings settings);

}
