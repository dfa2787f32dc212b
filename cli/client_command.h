#pragma once
// What the subcommands share that are clients of a hub.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/client.h"
#include "cli/command.h"

namespace impresario::cli {

/// Runs a command's body and turns what is thrown into an exit code.
Action guarded(std::function<int()> body);

/// Adds a subcommand to a group of them, with a client's options. What is given must outlive the group.
CLI::App* add_client_command(CLI::App& group, Action& chosen, ClientOptions& client, const char* name,
                             const char* about, std::function<int()> body);
/// The last thing that it is given is a definition.
void takes_definition(CLI::App* command, std::string& definition);

/// Says on standard error what an answer's `warnings` hold.
void show_warnings(const nlohmann::json& answer);

/// Puts a definition there, as it stands in `definition` (json_argument), and prints what is answered.
int put_definition(const ClientOptions& client, const std::string& path, const std::string& definition);

/// What a program is told of an execution with this status: Exit::failed while it has not ended.
int end_code(const std::string& status);

/// A member as text for a cell; null and absent are "".
std::string cell(const nlohmann::json& object, const char* name);

/// "2026-11-27 14:03:22" of an RFC 3339 time.
std::string clock_of(const std::string& time);

void print(const nlohmann::json& json);
/// JSON given as text, as @file, or as - for standard input. Throws Refusal.
std::string json_argument(const std::string& given);

}
