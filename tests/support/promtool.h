#pragma once
// Prometheus's own tools, which say whether what we wrote is what they read.

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace impresario::testing {

struct ToolSaid {
    int code = -1;
    std::string text;
};

/// Runs a command of the shell with both ways out together.
inline ToolSaid run_tool(const std::string& command) {
    ToolSaid said;
    FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
    if (!pipe) return said;
    char buffer[4096];
    while (const auto count = fread(buffer, 1, sizeof buffer, pipe)) said.text.append(buffer, count);
    const int status = pclose(pipe);
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return said;
}

/// promtool check metrics: code 0 and no text where there is nothing to say.
inline ToolSaid check_metrics(const std::string& text) {
    const auto directory = temporary_directory("metrics");
    std::ofstream(directory + "/metrics.txt") << text;
    auto said = run_tool("promtool check metrics < " + directory + "/metrics.txt");
    std::filesystem::remove_all(directory);
    return said;
}

}
