// Every command of every runbook, run on the real program: a hub to which what the runbooks are about has happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "platform/process.h"
#include "tests/support/files.h"
#include "tests/support/hub.h"
#include "tests/support/prompt.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// One thing that a page tells somebody to do.
struct Command {
    enum class Kind { shell, sql, mention };
    Kind kind = Kind::shell;
    /// The page's name without .md, and the line.
    std::string page;
    int line = 0;
    std::string text;
    /// The exit code beside 0 that the page announces: "# exit 1: something is found".
    std::optional<int> announced;
    /// It is there to show that all is well, and may show nothing.
    bool good = false;

    std::string where() const { return page + ".md:" + std::to_string(line) + ": " + text; }
};

std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// What stands between backticks in a paragraph, also across its lines.
std::vector<std::string> quoted_in(const std::string& paragraph) {
    std::vector<std::string> found;
    for (auto open = paragraph.find('`'); open != std::string::npos;) {
        const auto close = paragraph.find('`', open + 1);
        if (close == std::string::npos) break;
        found.push_back(std::regex_replace(paragraph.substr(open + 1, close - open - 1), std::regex("\\s+"), " "));
        open = paragraph.find('`', close + 1);
    }
    return found;
}

/// The lines of ```sh, the whole of each ```sql, and what is called `impresario …` in between.
std::vector<Command> commands_of(const std::string& page, const std::string& text) {
    std::vector<Command> found;
    std::istringstream lines(text);
    std::string language;
    std::string paragraph;
    std::string pending;
    bool good = false;
    int number = 0;
    int began = 1;
    const auto end_paragraph = [&] {
        for (const auto& each : quoted_in(paragraph))
            if (each.starts_with("impresario "))
                found.push_back({Command::Kind::mention, page, began, each, std::nullopt, good});
        paragraph.clear();
    };
    for (std::string raw; std::getline(lines, raw);) {
        ++number;
        const auto line = trimmed(raw);
        if (line.starts_with("```")) {
            end_paragraph();
            if (language == "sql" && !pending.empty())
                found.push_back({Command::Kind::sql, page, began, pending, std::nullopt, good});
            pending.clear();
            language = language.empty() ? line.substr(3) : "";
            began = number + 1;
            continue;
        }
        if (language.empty()) {
            if (line.starts_with("## ")) good = line == "## Good";
            if (line.empty()) end_paragraph();
            if (paragraph.empty()) began = number;
            paragraph += raw + "\n";
            continue;
        }
        if (language == "sql") {
            pending += line + "\n";
            continue;
        }
        if (language != "sh" || line.empty() || line.starts_with('#')) continue;
        if (pending.empty()) began = number;
        if (line.ends_with('\\')) {
            pending += line.substr(0, line.size() - 1);
            continue;
        }
        Command command{Command::Kind::shell, page, began, std::exchange(pending, "") + line, std::nullopt, good};
        std::smatch exit;
        if (std::regex_search(command.text, exit, std::regex(" # exit (\\d+): ")))
            command.announced = std::stoi(exit[1]);
        found.push_back(std::move(command));
    }
    end_paragraph();
    return found;
}

/// What is asked of a service manager, which the hub under test does not have. "" where it is not that; else what is
/// wrong with it, or "fine".
std::string judged_unrun(const std::string& text) {
    std::smatch parts;
    if (std::regex_match(text, parts, std::regex("systemctl (start|stop|restart|status) ([a-z-]+)")))
        return fs::exists(kRoot / "deploy/systemd" / (parts[2].str() + ".service")) ? "fine" : "there is no such unit";
    if (!std::regex_match(text, parts,
                          std::regex("journalctl -u impresario( --since -\\d+(h|min))?( --grep '(.*)')?( > .*)?")))
        return "";
    // What it looks for is what some part of the hub says.
    static const std::string said = [] {
        std::string all;
        for (const auto* room : {"cli", "orchestrator", "platform"})
            for (const auto& entry : fs::directory_iterator(kRoot / room))
                if (entry.path().extension() == ".cc") all += text_of(entry.path());
        return all;
    }();
    std::istringstream sought(parts[4].str());
    for (std::string each; std::getline(sought, each, '|');)
        if (said.find(each) == std::string::npos) return "no log says " + each;
    return "fine";
}

/// Words in capitals stand for something; not the program's variables, and not what is quoted for the program.
const std::regex kPlaceholder("(^|[^A-Za-z0-9_$'\"])'?([A-Z][A-Z_]{1,})\\b");

/// Whether it is a list in which nothing is.
bool shows_nothing(const std::string& text) {
    // psql's
    if (text.find("(0 rows)") != std::string::npos) return true;
    const auto json = Json::parse(text, nullptr, false);
    if (json.is_array()) return json.empty();
    if (!json.is_object()) return false;
    int lists = 0;
    for (const auto& each : json) {
        if (!each.is_array()) continue;
        if (!each.empty()) return false;
        ++lists;
    }
    return lists > 0;
}

/// Runs commands and says what is wrong with them.
class Checker {
  public:
    /// What a placeholder stands for in a command; nullopt: nothing.
    using Substitute = std::function<std::optional<std::string>(const std::string&, const Command&)>;

    Checker(Substitute substitute, std::function<std::string(const Command&)> database,
            std::vector<std::pair<std::string, std::string>> environment)
        : substitute_(std::move(substitute)),
          database_(std::move(database)),
          environment_(std::move(environment)),
          directory_(temporary_directory("runbooks")) {
        const char* path = std::getenv("PATH");
        environment_.emplace_back("PATH", fs::path(program()).parent_path().string() + ":" + (path ? path : ""));
    }
    ~Checker() {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    Checker(const Checker&) = delete;

    /// "" if nothing is.
    std::string complaint(const Command& command) {
        if (command.kind == Command::Kind::mention) {
            const auto wrong = of_mention(command.text);
            if (!wrong.empty() || !carries_something(command.text)) return wrong;
        }
        if (command.kind == Command::Kind::shell) {
            const auto judged = judged_unrun(command.text);
            if (!judged.empty()) return judged == "fine" ? "" : judged;
        }
        std::string text;
        std::string rest = command.text;
        for (std::smatch at; std::regex_search(rest, at, kPlaceholder); rest = at.suffix()) {
            const auto before = rest.substr(0, static_cast<std::size_t>(at.position(2)));
            // curl's -X POST
            const auto value = before.ends_with("-X ") ? std::optional(at[2].str()) : substitute_(at[2].str(), command);
            if (!value) return "nobody knows what " + at[2].str() + " stands for";
            text += before + *value;
        }
        text += rest;
        return of_run(command, text);
    }
    int ran() const { return ran_; }

  private:
    std::string of_run(const Command& command, const std::string& text) {
        ++ran_;
        platform::ProcessSettings settings;
        settings.environment = environment_;
        settings.environment.emplace_back("IMPRESARIO_DATABASE_URL", database_(command));
        settings.directory = directory_;
        settings.command = {"timeout", "60"};
        if (command.kind == Command::Kind::sql) {
            for (const auto* part : {"psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"})
                settings.command.push_back(part);
            settings.command.push_back(database_(command));
            settings.command.insert(settings.command.end(), {"--command", text});
        } else {
            settings.command.insert(settings.command.end(), {"bash", "-o", "pipefail", "-c", text});
        }
        const auto said = platform::run_command(std::move(settings));
        if (said.status != 0 && said.status != command.announced)
            return "exit " + std::to_string(said.status) + " of " + text + "\n" + said.output;
        if (trimmed(said.output).empty()) return "it printed nothing: " + text;
        if (!command.good && shows_nothing(said.output)) return "it shows nothing: " + text + "\n" + said.output;
        return "";
    }

    /// Its help, if there is such a command; else "".
    std::string help_of(const std::string& words) {
        auto& help = helps_[words];
        if (help.empty()) {
            platform::ProcessSettings settings;
            settings.command = {"bash", "-c", "\"$0\" " + words + " --help", program()};
            help = platform::run_command(std::move(settings)).output;
        }
        // With a word too many it explains what comes before that.
        return help.find("Usage: impresario " + words + " [OPTIONS]") == std::string::npos ? "" : help;
    }

    static std::vector<std::string> words_of(const std::string& text) {
        std::istringstream words(text.substr(std::string("impresario ").size()));
        return {std::istream_iterator<std::string>(words), {}};
    }
    /// More than the command's own name.
    static bool carries_something(const std::string& text) {
        static const std::regex beyond("(^-|[A-Z])");
        const auto words = words_of(text);
        return std::any_of(words.begin(), words.end(),
                           [](const auto& each) { return std::regex_search(each, beyond); });
    }

    std::string of_mention(const std::string& text) {
        const auto words = words_of(text);
        std::string name;
        std::string help;
        std::size_t used = 0;
        for (std::size_t count = 1; count <= words.size() && std::regex_match(words[count - 1], std::regex("[a-z-]+"));
             ++count) {
            const auto longer = name.empty() ? words[count - 1] : name + " " + words[count - 1];
            const auto its = help_of(longer);
            if (its.empty()) break;
            name = longer;
            help = its;
            used = count;
        }
        // `impresario --version`
        if (name.empty() && !words.empty() && words[0].starts_with("--")) return "";
        if (help.empty()) return "there is no such command";
        if (help.find("SUBCOMMAND") != std::string::npos && used < words.size()) return "there is no such subcommand";
        for (std::size_t i = used; i < words.size(); ++i)
            if (words[i].starts_with("--") && !std::regex_search(help, std::regex(words[i] + "\\b")))
                return name + " has no option " + words[i];
        return "";
    }

    Substitute substitute_;
    std::function<std::string(const Command&)> database_;
    std::vector<std::pair<std::string, std::string>> environment_;
    std::string directory_;
    std::map<std::string, std::string> helps_;
    int ran_ = 0;
};

/// A hub to which everything has happened that the pages are about.
class Troubled {
  public:
    Troubled()
        : peer_([this](const Asked& asked) { return behave(asked); }),
          hub("[hub]\nlease_seconds = 2\nheartbeat_ms = 500\n"
              "[retention]\nevery_seconds = 86400\n[metrics]\nseries = 10\n"
              "[alerts]\nevery_seconds = 1\n"
              "[[alerts.receivers]]\nname = \"hook\"\ntype = \"webhook\"\nurl = \"" +
              peer_.url("/hook") +
              "\"\nsigning_secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n"
              "[alerts.route]\nreceiver = \"hook\"\ngroup_wait_seconds = 0\n"
              "[[alerts.rules]]\nname = \"queue_depth_high\"\nraise = 1\nclear = 0\nfor_seconds = 0\n") {
        define();
        work();
        wait_for_what_is_told();
    }

    static const std::set<std::string>& placeholders() {
        static const std::set<std::string> known{"ALERT", "BATCH_ID", "BUDGET",   "ENDPOINT_ID", "EXECUTION_ID",
                                                 "PID",   "PROVIDER", "RECEIVER", "SCHEDULE",    "SUBSCRIBER",
                                                 "TIME",  "TYPE",     "VERSION"};
        return known;
    }

    /// A real thing in the state that the command is for.
    std::optional<std::string> real(const std::string& placeholder, const Command& command) {
        const auto is_about = [&](const char* words) { return command.text.find(words) != std::string::npos; };
        if (placeholder == "TYPE") return kType;
        if (placeholder == "PROVIDER") return "gemini";
        if (placeholder == "BUDGET") return "day";
        if (placeholder == "SCHEDULE") return "nightly";
        if (placeholder == "RECEIVER") return "hook";
        if (placeholder == "ALERT")
            return hub.get("/v1/alerts")["alerts"][0]["fingerprint"].get<std::string>().substr(0, 8);
        if (placeholder == "TIME")
            return hub.database.value(std::string("select to_char(now() at time zone 'utc' + interval '") +
                                      (is_about("--until") ? "1" : "-1") + " hour', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
        if (placeholder == "VERSION") return std::to_string(schema() - 2);
        if (placeholder == "PID")
            return hub.database.value(
                "select pid from pg_stat_activity where application_name = 'prompt' and datname = current_database()");
        if (placeholder == "SUBSCRIBER") {
            if (!is_about("delete")) return "crm";
            subscribe("gone");
            return "gone";
        }
        if (placeholder == "ENDPOINT_ID") {
            if (is_about("reset")) ask("POST", kPath + "/endpoints/" + endpoint_ + "/trip", {{"reason", "test"}});
            return endpoint_;
        }
        if (placeholder == "BATCH_ID") {
            close();
            Json one{{"workflow_type", kType}, {"input", {{"do", "complete"}}}};
            return ask("POST", "/v1/executions/batch", {{"executions", {one, one}}})["batch_id"];
        }
        if (placeholder == "EXECUTION_ID") {
            if (is_about("retry") || is_about("dead-letters")) {
                open();
                return ended("refuse");
            }
            if (is_about("replay")) return completed_;
            if (!is_about("cancel") && !is_about("explain") && !is_about("PATCH")) return retrying_;
            close();
            return hub.enqueue(kType, {{"do", "complete"}});
        }
        return std::nullopt;
    }

    /// What there is to be before a page, or a command of it.
    void before(const std::string& page) {
        open();
        if (page == "ledger_difference") hub.database.run("update budget_balances set settled = settled + 1000000");
        if (page == "subscriber_disabled") ask("POST", "/v1/subscribers/crm/disable", {{"reason", "test"}});
        // Schemas go up and down in a database of their own, which is behind where a page is about going up.
        migrate("up");
        if (page == "schema_migration" || page == "reader_failing") migrate("down");
    }
    void before(const Command& command) {
        if (command.kind == Command::Kind::sql) somebody_at_a_prompt();
        // What the page before it has let through waits again.
        if (command.text.find("queue") != std::string::npos) {
            close();
            hub.enqueue(kType, {{"do", "complete"}});
        }
    }
    std::string database_of(const Command& command) const {
        static const std::regex on_schema("impresario migrate|pg_dump");
        return std::regex_search(command.text, on_schema) ? schema_.url().reveal() : hub.database.url().reveal();
    }

  private:
    static inline const std::string kType = "report";
    static inline const std::string kPath = "/v1/workflow-types/" + kType;

    static Behaviour behave(const Asked& asked) {
        // Who takes nothing at all is waited for; who takes others gives up what it refuses.
        if (asked.path == "/crm") return {asked.json.value("type", "") == "execution.dead" ? 400 : 200, "no"};
        if (asked.path == "/hook") return {500, "no"};
        const auto wanted = asked.json["input_data"].value("do", "refuse");
        if (wanted == "refuse") return {400, "no"};
        if (wanted == "retry") return {503, "not now"};
        if (wanted == "run") return {};
        return {
            200,
            R"({"status":"completed","result_data":1,"usage":[{"provider":"gemini","api_calls":1,"cost_usd":"0.02"}]})"};
    }

    Json ask(const std::string& method, const std::string& path, const Json& body) const {
        const auto reply = hub.api(method, path, body);
        if (reply.status / 100 != 2)
            throw std::runtime_error(method + " " + path + ": " + std::to_string(reply.status) + " " + reply.body);
        return reply.body.empty() ? Json::object() : reply.json();
    }
    void subscribe(const std::string& name) const {
        ask("PUT", "/v1/subscribers/" + name,
            {{"url", peer_.url("/crm")}, {"types", {"execution.*"}}, {"attempts", 1}, {"backoff_seconds", 1}});
    }
    void define() {
        ask("PUT", "/v1/budgets/day", {{"limit_usd", "100"}, {"window", "day"}, {"reason", "test"}});
        subscribe("crm");
        hub.register_type(kType, peer_.url("/work"),
                          {{"call_estimates", {{{"provider", "gemini"}, {"calls", 1}}}},
                           {"cost_estimate_usd", "0.02"},
                           {"retry_policy", quick_retries(3, 3600)}});
        endpoint_ = hub.get(kPath)["endpoints"][0]["endpoint_id"];
        ask("PUT", "/v1/schedules/nightly",
            {{"workflow_type", kType}, {"interval_seconds", 1}, {"input", {{"do", "complete"}}}});
    }
    void work() {
        completed_ = ended("complete");
        ended("refuse");
        retrying_ = hub.enqueue(kType, {{"do", "retry"}});
        running_ = hub.enqueue(kType, {{"do", "run"}});
        for (const auto& [id, status] : {std::pair(retrying_, "retrying"), std::pair(running_, "running")})
            if (!hub.await(id, [status = status](const Json& e) { return e["status"] == status; }))
                throw std::runtime_error("it did not come to be " + std::string(status));
        if (!eventually([&] { return !hub.get("/v1/schedules/nightly/runs")["runs"].empty(); }))
            throw std::runtime_error("the schedule did not run");
        ask("POST", "/v1/schedules/nightly/pause", {{"reason", "test"}});
        HubProcess lost(hub.database, hub.key_file(), hub.config());
        lost.kill();
        // More types than a metric may have series.
        for (int i = 0; i < 12; ++i) {
            const auto name = "type" + std::to_string(i);
            hub.register_type(name, peer_.url("/work"));
            hub.enqueue(name, {{"do", "complete"}});
        }
        // What ended long ago may go; what runs has not been heard of for an hour, and somebody waits.
        const auto old = ended("complete");
        hub.database.run(
            "update executions set created_at = created_at - interval '200 days', scheduled_at = scheduled_at - "
            "interval '200 days', started_at = started_at - interval '200 days', completed_at = completed_at - "
            "interval '200 days' where execution_id = '" +
            old + "'");
        hub.database.run("update events set at = at - interval '200 days' where stream_id = '" + old + "'");
        hub.database.run("update events set at = at - interval '1 hour'");
        hub.database.run("update executions set updated_at = updated_at - interval '1 hour' where status = 'running'");
        close();
        hub.enqueue(kType, {{"do", "complete"}});
    }
    void wait_for_what_is_told() const {
        const auto there = [&](const std::string& path, const char* list, const auto& holds) {
            if (!eventually([&] {
                    const auto answer = hub.get(path);
                    return std::any_of(answer[list].begin(), answer[list].end(), holds);
                }))
                throw std::runtime_error(path + ": " + hub.get(path).dump());
        };
        there("/v1/nodes", "nodes", [](const Json& each) { return each["state"] == "lost"; });
        there("/v1/alerts", "alerts", [](const Json&) { return true; });
        there("/v1/notifications", "notifications", [](const Json& each) { return each["state"] == "failed"; });
        there("/v1/subscribers/crm/messages?state=failed", "messages", [](const Json&) { return true; });
    }

    std::string ended(const std::string& how) const {
        const auto id = hub.enqueue(kType, {{"do", how}});
        const auto end = hub.await_end(id);
        if (end["status"] != (how == "refuse" ? "dead" : "completed"))
            throw std::runtime_error("it ended as " + end.dump());
        return id;
    }
    /// Nothing of the type starts; and everything that was stopped goes on.
    void close() const { ask("POST", "/v1/pause", {{"workflow_type", kType}, {"reason", "test"}}); }
    void open() const {
        ask("POST", "/v1/resume", {{"workflow_type", kType}});
        ask("POST", "/v1/resume", {{"provider", "gemini"}});
        ask("POST", "/v1/providers/gemini/reset", Json::object());
        ask("POST", kPath + "/endpoints/" + endpoint_ + "/reset", Json::object());
    }
    void somebody_at_a_prompt() {
        if (hub.database.value("select count(*) from pg_stat_activity where application_name = 'prompt' and datname = "
                               "current_database()") != "0")
            return;
        prompt_ = std::make_unique<Prompt>(hub.database);
        prompt_->run("begin");
        prompt_->run("select from executions where execution_id = '" + retrying_ + "' for update");
        prompt_->run("lock table scheduler in access share mode");
    }
    int schema() const { return std::stoi(schema_.value("select version from schema_version")); }
    void migrate(const std::string& way) const {
        const auto said = run({"migrate", way, "--database-url", schema_.url().reveal()});
        if (said.code != 0) throw std::runtime_error("migrate " + way + ": " + said.text);
    }

    Peer peer_;

  public:
    HubFixture hub;

  private:
    TestDatabase schema_;
    std::unique_ptr<Prompt> prompt_;
    std::string endpoint_;
    std::string completed_;
    std::string retrying_;
    std::string running_;
};

std::vector<fs::path> pages() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(kRoot / "docs/runbooks")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

TEST(Runbooks, EveryCommandRuns) {
    Troubled troubled;
    Checker checker(
        [&](const std::string& placeholder, const Command& command) { return troubled.real(placeholder, command); },
        [&](const Command& command) { return troubled.database_of(command); },
        {{"IMPRESARIO_URL", "http://127.0.0.1:" + std::to_string(troubled.hub.hub->port())},
         {"IMPRESARIO_KEY", troubled.hub.key}});
    std::size_t seen = 0;
    for (const auto& path : pages()) {
        const auto page = path.stem().string();
        const auto commands = commands_of(page, text_of(path));
        EXPECT_TRUE(std::any_of(commands.begin(), commands.end(),
                                [](const Command& each) { return each.kind == Command::Kind::shell; }))
            << page << " has no command";
        troubled.before(page);
        for (const auto& command : commands) {
            troubled.before(command);
            const auto complaint = checker.complaint(command);
            if (!complaint.empty()) ADD_FAILURE() << command.where() << "\n  " << complaint;
        }
        seen += commands.size();
    }
    std::printf("%zu commands and mentions, %d run\n", seen, checker.ran());
    EXPECT_GT(checker.ran(), 150);
}

TEST(Runbooks, WhatStandsForSomethingIsExplained) {
    const auto index = text_of(kRoot / "docs/runbooks/README.md");
    std::set<std::string> explained;
    std::istringstream lines(index.substr(index.find("| stands for")));
    for (std::string line; std::getline(lines, line) && line.starts_with('|');)
        for (const auto& each : quoted_in(line.substr(0, line.find('|', 1)))) explained.insert(each);
    EXPECT_EQ(explained, Troubled::placeholders());
}

/// What is wrong with the first command of a page that holds this.
std::string complaint_about(const std::string& text) {
    Checker checker(
        [](const std::string& placeholder, const Command&) {
            return placeholder == "TYPE" ? std::optional<std::string>("report") : std::nullopt;
        },
        [](const Command&) { return ""; }, {{"IMPRESARIO_URL", "http://127.0.0.1:1"}, {"IMPRESARIO_KEY", "none"}});
    const auto commands = commands_of("page", text);
    return commands.empty() ? "no command" : checker.complaint(commands.front());
}
std::string shell(const std::string& line) { return "Text.\n\n1. Look:\n\n   ```sh\n   " + line + "\n   ```\n"; }

TEST(Runbooks, WhatIsWrongIsFound) {
    EXPECT_THAT(complaint_about(shell("impresario explain --type TYPE")), HasSubstr("exit 2"));
    EXPECT_THAT(complaint_about(shell("impresario nodes")), HasSubstr("exit 3"));
    EXPECT_THAT(complaint_about(shell("impresario nodes   # exit 4: it is not known")), HasSubstr("exit 3"));
    EXPECT_THAT(complaint_about(shell("impresario nodes   # exit 3: it is away")), "");
    EXPECT_THAT(complaint_about(shell("impresario show NOBODY")), HasSubstr("nobody knows what NOBODY stands for"));
    EXPECT_THAT(complaint_about(shell("true")), HasSubstr("printed nothing"));
    EXPECT_THAT(complaint_about(shell("false | cat")), HasSubstr("exit 1"));
    EXPECT_THAT(complaint_about(shell("echo '{\"alerts\": []}'")), HasSubstr("shows nothing"));
    EXPECT_THAT(complaint_about("## Good\n" + shell("echo '{\"alerts\": []}'")), "");
    EXPECT_THAT(complaint_about(shell("echo \\\n   TYPE | grep -x report")), "");
    EXPECT_THAT(complaint_about(shell("systemctl restart nobody")), HasSubstr("no such unit"));
    EXPECT_THAT(complaint_about(shell("systemctl restart impresario")), "");
    EXPECT_THAT(complaint_about(shell("journalctl -u impresario --grep 'nobody says this'")), HasSubstr("no log says"));
    EXPECT_THAT(complaint_about("```sql\nselect 1;\n```\n"), HasSubstr("exit 2"));
    EXPECT_THAT(complaint_about("See `impresario weather`."), HasSubstr("no such command"));
    EXPECT_THAT(complaint_about("See `impresario budgets weather`."), HasSubstr("no such subcommand"));
    EXPECT_THAT(complaint_about("See `impresario\n   list --weather`."), HasSubstr("no option --weather"));
    EXPECT_THAT(complaint_about("See `impresario budgets put`, which is only named."), "");
    EXPECT_THAT(complaint_about("See `impresario list --type TYPE`, which is run."), HasSubstr("exit 3"));
    EXPECT_THAT(complaint_about("Nothing to do."), "no command");
}

}
}
