#include "platform/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace impresario::platform {

namespace {

/// Everything that allocates is made before fork; the child only makes system calls.
pid_t spawn(const ProcessSettings& settings, int output) {
    std::vector<std::string> environment;
    for (char** each = environ; *each; ++each) {
        const std::string entry(*each);
        bool replaced = false;
        for (const auto& [key, value] : settings.environment)
            if (entry.starts_with(key + "=")) replaced = true;
        if (!replaced) environment.push_back(entry);
    }
    for (const auto& [key, value] : settings.environment) environment.push_back(key + "=" + value);
    std::vector<char*> env;
    for (auto& each : environment) env.push_back(each.data());
    env.push_back(nullptr);
    std::vector<std::string> command = settings.command;
    std::vector<char*> argv;
    for (auto& each : command) argv.push_back(each.data());
    argv.push_back(nullptr);
    const passwd* user = settings.user.empty() ? nullptr : getpwnam(settings.user.c_str());
    if (!settings.user.empty() && !user) throw std::runtime_error("there is no user " + settings.user);
    const uid_t uid = user ? user->pw_uid : 0;
    const gid_t gid = user ? user->pw_gid : 0;

    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (pid > 0) return pid;
    if (settings.die_with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGINT, SIG_IGN);
    const int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    if (output >= 0) {
        dup2(output, 1);
        dup2(output, 2);
    }
    if (user && (setgroups(0, nullptr) != 0 || setgid(gid) != 0 || setuid(uid) != 0)) _exit(126);
    // A change of user clears it.
    if (settings.die_with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!settings.directory.empty() && chdir(settings.directory.c_str()) != 0) _exit(126);
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    execvpe(argv[0], argv.data(), env.data());
    _exit(127);
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}

Process::Process(ProcessSettings settings) {
    int output = -1;
    if (!settings.log_file.empty()) {
        output = open(settings.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        if (output < 0) throw std::runtime_error("cannot write " + settings.log_file + ": " + std::strerror(errno));
    }
    try {
        pid_ = spawn(settings, output);
    } catch (...) {
        if (output >= 0) close(output);
        throw;
    }
    if (output >= 0) close(output);
}

Process::~Process() {
    if (pid_ < 0 || poll()) return;
    signal(SIGTERM);
    for (int i = 0; i < 500; ++i) {
        if (poll()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    signal(SIGKILL);
    wait();
}

void Process::signal(int number) {
    if (pid_ > 0 && !status_) kill(pid_, number);
}

std::optional<int> Process::poll() {
    if (status_ || pid_ < 0) return status_;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = exit_code(status);
    return status_;
}

int Process::wait() {
    if (status_ || pid_ < 0) return status_.value_or(0);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = exit_code(status);
    return *status_;
}

Finished run_command(ProcessSettings settings) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    settings.die_with_parent = false;
    const pid_t pid = spawn(settings, pipes[1]);
    close(pipes[1]);
    Finished finished;
    char buffer[4096];
    for (;;) {
        const auto got = read(pipes[0], buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        finished.output.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipes[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    finished.status = exit_code(status);
    return finished;
}

std::string sibling_program(const std::string& name) {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

}
