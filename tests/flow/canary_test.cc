// A secret is nobody's to read (P10): each place that holds one gets one that is there nowhere else, a canary, and
// everything that the program says, whatever happens to it, is searched for all of them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "platform/crypto.h"
#include "platform/process.h"
#include "platform/url.h"
#include "tests/support/files.h"
#include "tests/support/hub.h"
#include "tests/support/mailbox.h"
#include "tests/support/temporary_directory.h"

namespace impresario::testing {
namespace {

namespace fs = std::filesystem;

// ---- What is planted -------------------------------------------------------------------------------------------

/// Where a secret may be: a text with what other notations escape, a bearer of ours, a signing secret, a key of 32
/// bytes, a part of an address, a word.
enum class Form { text, api_key, signing, hub_key, address, word };

struct Kind {
    const char* name;
    Form form;
    /// Users' data, which is served to whoever may see the execution, and told nobody else.
    bool payload = false;
};

const std::vector<Kind> kKinds{
    {"database.url", Form::text},
    {"database.listen_url", Form::text},
    {"hub.key", Form::hub_key},
    {"hub.previous_key", Form::hub_key},
    {"tracing.url", Form::address},
    {"tracing.authorization", Form::text},
    {"slack.url", Form::address},
    {"webhook.url", Form::address},
    {"webhook.bearer", Form::text},
    {"webhook.signing_secrets", Form::signing},
    {"webhook.headers", Form::text},
    {"pagerduty.url", Form::address},
    {"pagerduty.routing_key", Form::text},
    {"alertmanager.bearer", Form::text},
    {"alertmanager.headers", Form::text},
    {"email.password", Form::text},
    {"file type.bearer", Form::text},
    {"file type.signing_secrets", Form::signing},
    {"file type.headers", Form::text},
    {"type.bearer", Form::text},
    {"type.signing_secrets", Form::signing},
    {"type.headers", Form::text},
    {"type.endpoints.url", Form::address},
    {"type.endpoints.status_url", Form::address},
    {"subscriber.bearer", Form::text},
    {"subscriber.signing_secrets", Form::signing},
    {"subscriber.headers", Form::text},
    {"subscriber.url", Form::address},
    {"service.bearer", Form::word},
    {"service.signing_secrets", Form::signing},
    {"content_pipeline.database_url", Form::text},
    {"intelligence_engine.hub_key", Form::api_key},
    {"wrong API key", Form::api_key},
    {"wrong key of another kind", Form::text},
    {"cookie", Form::text},
    {"header", Form::text},
    {"query", Form::address},
    {"user of a URL", Form::address},
    {"wrong callback token", Form::word},
    {"command line", Form::text},
    {"malformed", Form::text},
    {"input", Form::text, true},
    {"result", Form::text, true},
    {"error_data", Form::text, true},
};

/// Planted in tests of their own.
const std::set<std::string> kElsewhere{"service.bearer", "service.signing_secrets", "content_pipeline.database_url",
                                       "intelligence_engine.hub_key", "command line"};

/// Letters and digits, which no notation but base64 and hex changes. Of this process: others look for theirs meanwhile.
std::string core_of(std::size_t index) {
    const auto digest =
        platform::hex(platform::view(platform::sha256(std::to_string(getpid()) + " " + std::to_string(index))))
            .substr(0, 14);
    return "cnry" + digest + std::to_string(10 + index);
}

/// The characters of base64 that stand for `text` alone, wherever it begins in what was encoded.
std::vector<std::string> base64_forms(const std::string& text) {
    std::vector<std::string> forms;
    for (std::size_t before = 0; before < 3; ++before) {
        const auto encoded = platform::base64(std::string(before, '\0') + text);
        const auto first = (before * 8 + 5) / 6;
        forms.push_back(encoded.substr(first, (before + text.size()) * 8 / 6 - first));
    }
    return forms;
}

class Canaries {
  public:
    /// The text that stands for that kind, from now on looked for.
    std::string plant(const std::string& name) {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            if (name != kKinds[i].name) continue;
            const auto core = core_of(i);
            const auto bytes = (core + std::string(32, 'x')).substr(0, 32);
            std::string text;
            switch (kKinds[i].form) {
                case Form::text:
                    text = "\"/" + core + "+&<%>=" + core.substr(0, 8) + " \"";
                    break;
                case Form::api_key:
                    text = "imp_" + (core + std::string(43, 'A')).substr(0, 43);
                    break;
                case Form::signing:
                    text = "whsec_" + platform::base64(bytes);
                    break;
                case Form::hub_key:
                    text = platform::base64(bytes);
                    break;
                case Form::address:
                case Form::word:
                    text = core + "z";
            }
            if (needles_.contains(name)) return text;
            watch(name, core);
            if (kKinds[i].form == Form::signing || kKinds[i].form == Form::hub_key)
                watch(name, platform::base64(bytes).substr(0, 40));
            return text;
        }
        throw std::logic_error("no such canary: " + name);
    }
    /// What the program has made itself.
    void watch(const std::string& name, const std::string& text) {
        auto& needles = needles_[name];
        needles.push_back(text);
        for (auto& form : base64_forms(text)) {
            auto url = form;
            std::replace(url.begin(), url.end(), '+', '-');
            std::replace(url.begin(), url.end(), '/', '_');
            needles.push_back(std::move(form));
            needles.push_back(std::move(url));
        }
        needles.push_back(platform::hex(text));
        auto upper = needles.back();
        for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        needles.push_back(upper);
    }
    /// Those that are in `text`, and where; `but`: those that may be.
    std::string found_in(const std::string& text, const std::set<std::string>& but = {}) const {
        std::string found;
        for (const auto& [name, needles] : needles_) {
            if (but.contains(name)) continue;
            for (const auto& needle : needles) {
                const auto at = text.find(needle);
                if (at == std::string::npos) continue;
                const auto begin = at < 120 ? 0 : at - 120;
                found += "\n  " + name + ": …" + text.substr(begin, needle.size() + 200) + "…";
                break;
            }
        }
        return found;
    }
    ::testing::AssertionResult untold(const std::string& text, const std::set<std::string>& but = {}) const {
        const auto found = found_in(text, but);
        return found.empty() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << found;
    }
    std::set<std::string> planted() const {
        std::set<std::string> names;
        for (const auto& [name, needles] : needles_) names.insert(name);
        return names;
    }
    static std::set<std::string> payloads() {
        std::set<std::string> names;
        for (const auto& kind : kKinds)
            if (kind.payload) names.insert(kind.name);
        return names;
    }

  private:
    std::map<std::string, std::vector<std::string>> needles_;
};

// ---- No secret without a canary --------------------------------------------------------------------------------

/// Each member of the program that is a domain::Secret, by file, and the canaries that stand for it.
const std::map<std::string, std::vector<std::string>> kHeld{
    {"alerts/settings.h url", {"slack.url", "webhook.url", "pagerduty.url"}},
    {"alerts/settings.h routing_key", {"pagerduty.routing_key"}},
    {"alerts/settings.h password", {"email.password"}},
    {"cli/client.h key", {"wrong API key"}},
    {"cli/client.h key_", {"wrong API key"}},
    {"cli/config.h hub_keys", {"hub.key", "hub.previous_key"}},
    {"cli/config.h json", {"file type.bearer", "file type.signing_secrets", "file type.headers"}},
    // The test's own API key is watched as one: the watch gets it.
    {"cli/config.h key", {"wrong API key"}},
    {"domain/trigger.h callback_token", {"wrong callback token"}},
    {"orchestrator/tracer.h url", {"tracing.url"}},
    {"orchestrator/tracer.h authorization", {"tracing.authorization"}},
    {"platform/database.h url", {"database.url", "database.listen_url", "content_pipeline.database_url"}},
    {"platform/peer_secrets.h bearer", {"type.bearer", "subscriber.bearer", "webhook.bearer", "alertmanager.bearer"}},
    {"platform/peer_secrets.h signing",
     {"type.signing_secrets", "subscriber.signing_secrets", "webhook.signing_secrets"}},
    {"platform/peer_secrets.h headers",
     {"type.headers", "subscriber.headers", "webhook.headers", "alertmanager.headers"}},
    {"platform/smtp_client.h password", {"email.password"}},
    {"platform/smtp_outcome.h secrets_", {"email.password"}},
    {"subworkflows/kit/service.h bearer", {"service.bearer"}},
    {"subworkflows/kit/service.h signing", {"service.signing_secrets"}},
    {"subworkflows/intelligence_engine/hub_history.h key_", {"intelligence_engine.hub_key"}},
    {"webhooks/signed_post.h also_secret", {"wrong callback token"}},
};

/// Each text of the configuration: a secret, with its canary, or nothing that anybody would hide.
const std::map<std::string, std::string> kKeys{
    {"database.url", "database.url"},
    {"database.listen_url", "database.listen_url"},
    {"hub.key", "hub.key"},
    {"hub.previous_key", "hub.previous_key"},
    {"tracing.url", "tracing.url"},
    {"tracing.authorization", "tracing.authorization"},
    {"watch.key", "wrong API key"},
    {"hub.key_file", ""},
    {"hub.name", ""},
    {"http.address", ""},
    {"http.public_url", ""},
    {"log.level", ""},
    {"log.format", ""},
    {"money.unknown_cost_usd", ""},
    {"reports.zone", ""},
    {"tracing.service_name", ""},
    {"webhooks.extra_trust", ""},
};
const std::map<std::string, std::string> kReceiverKeys{
    {"url", "slack.url"},
    {"routing_key", "pagerduty.routing_key"},
    {"password", "email.password"},
    {"name", ""},
    {"from", ""},
    {"from_name", ""},
    {"username", ""},
    {"extra_trust", ""},
    {"title", ""},
    {"text", ""},
};
const std::map<std::string, std::string> kPeerKeys{
    {"bearer", "type.bearer"}, {"signing_secrets", "type.signing_secrets"}, {"headers", "type.headers"}};

std::set<std::string> matches(const std::string& text, const std::string& pattern, int groups = 1) {
    std::set<std::string> all;
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
        all.insert(groups == 1 ? (*at)[1].str() : (*at)[1].str() + "." + (*at)[2].str());
    return all;
}

void expect_known(const std::set<std::string>& read, const std::map<std::string, std::string>& known,
                  const std::string& file) {
    std::set<std::string> kinds;
    for (const auto& kind : kKinds) kinds.insert(kind.name);
    for (const auto& key : read)
        EXPECT_TRUE(known.contains(key)) << file << " reads " << key
                                         << ": plant a canary for it, or say that it is none";
    for (const auto& [key, canary] : known) {
        EXPECT_TRUE(read.contains(key)) << file << " does not read " << key << " any more";
        EXPECT_TRUE(canary.empty() || kinds.contains(canary)) << "there is no canary " << canary;
    }
}

TEST(Canary, EverySecretOfTheProgramHasOne) {
    std::set<std::string> held;
    for (const auto* room : {"alerts", "api", "cli", "domain", "journal", "orchestrator", "platform", "priority_queue",
                             "reports", "resource_manager", "schedules", "subworkflows", "webhooks"})
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
            if (entry.path().extension() != ".h") continue;
            // A member: a type with Secret in it, a name, and what ends it or begins its value.
            for (const auto& name : matches(
                     text_of(entry.path()),
                     R"(\n {4,8}(?:const )?(?:std::\w+<)*(?:std::\w+, )?(?:domain::)?Secret>*&? (\w+)(?: =[^=]|;|\{))"))
                held.insert(fs::relative(entry.path(), kRoot).string() + " " + name);
        }
    std::set<std::string> kinds;
    for (const auto& kind : kKinds) kinds.insert(kind.name);
    for (const auto& each : held) EXPECT_TRUE(kHeld.contains(each)) << each << " is a secret without a canary";
    for (const auto& [each, canaries] : kHeld) {
        EXPECT_TRUE(held.contains(each)) << each << " is not a secret any more";
        for (const auto& canary : canaries) EXPECT_TRUE(kinds.contains(canary)) << canary;
    }
    const auto config = text_of(kRoot / "cli/config.cc");
    expect_known(matches(config, R"re(read\.text\("(\w+)", "(\w+)")re", 2), kKeys, "cli/config.cc");
    auto receivers = text_of(kRoot / "alerts/settings_json.cc");
    const auto begin = receivers.find("Receiver read_receiver(");
    receivers = receivers.substr(begin, receivers.find("\n}\n", begin) - begin);
    auto keys = matches(receivers, R"re(reader\.text\("(\w+)")re");
    keys.merge(matches(receivers, R"re(secret\("(\w+)"\))re"));
    expect_known(keys, kReceiverKeys, "alerts/settings_json.cc");
    expect_known(matches(text_of(kRoot / "platform/peer_secrets_json.cc"), R"re(members\.find\("(\w+)"\))re"),
                 kPeerKeys, "platform/peer_secrets_json.cc");
}

// ---- The world -------------------------------------------------------------------------------------------------

std::string hexed(const std::string& text) { return platform::hex(text); }

/// As careless as peers are: everything that was asked, in every notation there is.
std::string echo(const Asked& asked) {
    std::string all = asked.method + " " + asked.path + "\n";
    std::string secret_ones;
    for (const auto& [name, value] : asked.headers) {
        all += name + ": " + value + "\n";
        if (name == "authorization" || name.starts_with("x-")) secret_ones += value + " ";
    }
    return "no. " + all + asked.body.substr(0, 600) + "\n" + platform::percent_encode(secret_ones) + "\n" +
           platform::base64(secret_ones) + "\n" + platform::base64url("a" + secret_ones) + "\n" + hexed(secret_ones) +
           "\n" + Json(Json(secret_ones).dump()).dump() + "\n" + Json(secret_ones).dump(-1, ' ', true) + "\n" +
           platform::percent_encode(asked.path);
}

/// The same, but for what it was given to work with: whoever puts that into an error has it told with the error.
std::string echo_of_request(Asked asked) {
    auto body = asked.json;
    if (body.is_object()) {
        body.erase("input_data");
        body.erase("context");
        asked.body = body.dump();
    }
    return echo(asked);
}

std::string read(const std::string& path) { return text_of(path); }

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// A program of ours whose log is kept.
class Running {
  public:
    Running(std::vector<std::string> command, std::vector<std::pair<std::string, std::string>> environment,
            const std::string& log)
        : log_(log) {
        platform::ProcessSettings settings;
        settings.command = std::move(command);
        settings.environment = std::move(environment);
        settings.log_file = log;
        process_ = std::make_unique<platform::Process>(std::move(settings));
    }
    std::string log() const { return read(log_); }
    platform::Process& process() { return *process_; }
    bool await(const std::string& line, double seconds = 20) const {
        return eventually([&] { return log().find(line) != std::string::npos; }, seconds);
    }

  private:
    std::string log_;
    std::unique_ptr<platform::Process> process_;
};

/// Takes connections and says nothing.
class Silence {
  public:
    Silence() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        listen(listener_, 16);
        socklen_t size = sizeof address;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
    }
    ~Silence() { close(listener_); }
    /// Waits for one.
    void taken() const { close(accept(listener_, nullptr, nullptr)); }
    int port = 0;

  private:
    int listener_;
};

/// What a search may find in a place, and why it is there.
struct Place {
    std::string what;
    std::string text;
    std::set<std::string> but = {};
};

class World {
  public:
    World()
        : directory(temporary_directory("canary")), everybody([this](const Asked& asked) { return answer(asked); }) {
        mailbox = std::make_unique<Mailbox>("starttls", Json{{"password", canaries.plant("email.password")}});
        refusing_mailbox = std::make_unique<Mailbox>("starttls", Json{{"password", "another"}});
        key = make_key("admin");
        canaries.watch("API key", key.substr(4, 30));
        write(directory + "/config.toml", config());
    }
    ~World() {
        watch.reset();
        hub.reset();
        if (!std::getenv("IMPRESARIO_KEEP_LOGS")) fs::remove_all(directory);
    }

    std::string database_url(const std::string& canary) {
        return database.url().reveal() + " password='" + canaries.plant(canary) + "'";
    }

    std::string config() {
        const auto kept = [&](const std::string& setting, const std::string& file, const std::string& text) {
            write(directory + "/" + file, text + "\n");
            return setting + " = {file = '" + directory + "/" + file + "'}\n";
        };
        const auto given = [&](const std::string& setting, const std::string& variable, const std::string& text) {
            environment.emplace_back(variable, text);
            return setting + " = {env = '" + variable + "'}\n";
        };
        const auto address = [&](const std::string& path) { return everybody.url("/" + path); };
        const auto signing = [&](const std::string& who) {
            return "signing_secrets = ['" + canaries.plant(who + ".signing_secrets") + "']\n";
        };
        std::string text = "[http]\nport = " + std::to_string(port) + "\n[database]\n" +
                           kept("url", "database-url", database_url("database.url")) +
                           given("listen_url", "CANARY_LISTEN_URL", database_url("database.listen_url"));
        text += "[hub]\n" + given("key", "CANARY_HUB_KEY", canaries.plant("hub.key")) +
                kept("previous_key", "previous-key", canaries.plant("hub.previous_key"));
        text += "[egress]\nallow = ['127.0.0.0/8']\n[log]\nlevel = 'debug'\nformat = 'json'\n";
        text += "[tracing]\nurl = '" + address("spans?token=" + canaries.plant("tracing.url")) + "'\n" +
                given("authorization", "CANARY_COLLECTOR", "Basic " + canaries.plant("tracing.authorization"));
        text += alerting();
        text += "[[workflow_types]]\nname = 'of_the_file'\nendpoints = ['" + address("500") +
                "']\nretry_policy = 'none'\n" +
                given("bearer", "CANARY_TYPE_BEARER", canaries.plant("file type.bearer")) + signing("file type") +
                "headers = {x-file-key = '" + canaries.plant("file type.headers") + "'}\n";
        return text;
    }

    /// The section that a hub and the watch share.
    std::string alerting() {
        const auto address = [&](const std::string& path) { return everybody.url("/" + path); };
        const auto text = [&](const std::string& setting, const std::string& canary) {
            return setting + " = '" + canaries.plant(canary) + "'\n";
        };
        std::string section =
            "[alerts]\nevery_seconds = 1\n[[alerts.rules]]\nname = 'queue_depth_high'\nraise = 1\nclear = "
            "1\nfor_seconds = 0\nkeep_seconds = 0\n[alerts.route]\nreceiver = 'slack'\ngroup_wait_seconds = 0\n"
            "group_interval_seconds = 1\n";
        for (const auto* name : {"hook", "page", "am", "mail", "shut"})
            section +=
                std::string("[[alerts.route.routes]]\nmatchers = [\"severity=~.*\"]\ncontinue = true\nreceiver = '") +
                name + "'\n";
        section += "[[alerts.route.routes]]\nmatchers = [\"severity=~.*\"]\nreceiver = 'slack'\n";
        section += "[[alerts.receivers]]\nname = 'slack'\ntype = 'slack'\nurl = '" +
                   address("slack/T0/B0/" + canaries.plant("slack.url")) + "'\n";
        section += "[[alerts.receivers]]\nname = 'hook'\ntype = 'webhook'\nurl = '" +
                   address("hook?key=" + canaries.plant("webhook.url")) + "'\n" + text("bearer", "webhook.bearer") +
                   "signing_secrets = ['" + canaries.plant("webhook.signing_secrets") +
                   "']\nheaders = {x-hook-key = '" + canaries.plant("webhook.headers") + "'}\n";
        section += "[[alerts.receivers]]\nname = 'page'\ntype = 'pagerduty'\nurl = '" +
                   address("page/" + canaries.plant("pagerduty.url")) + "'\n" +
                   text("routing_key", "pagerduty.routing_key");
        section += "[[alerts.receivers]]\nname = 'am'\ntype = 'alertmanager'\nurl = '" + address("am") + "'\n" +
                   text("bearer", "alertmanager.bearer") + "headers = {x-am-key = '" +
                   canaries.plant("alertmanager.headers") + "'}\n";
        for (const auto& [name, box] : {std::pair{"mail", &mailbox}, {"shut", &refusing_mailbox}})
            section += std::string("[[alerts.receivers]]\nname = '") + name +
                       "'\ntype = 'email'\nurl = 'smtp://127.0.0.1:" + std::to_string((*box)->port()) +
                       "'\nusername = 'ada'\nextra_trust = '" + (*box)->trusted() +
                       "'\nfrom = 'impresario@example.com'\nto = ['ops@example.com']\n" +
                       text("password", "email.password");
        return section;
    }

    void start() {
        hub = std::make_unique<Running>(
            std::vector<std::string>{program(), "serve", "--config", directory + "/config.toml"}, environment,
            directory + "/hub.log");
        if (!eventually([&] { return request(port, "GET", "/readyz").status == 200; }))
            throw std::runtime_error("the hub did not become ready:\n" + hub->log());
    }

    std::string make_key(const std::string& role) const {
        auto said = run({"keys", "create", "--role", role, "--name", "canary"},
                        {{"IMPRESARIO_DATABASE_URL", database.url().reveal()}});
        return said.text.substr(0, said.text.find('\n'));
    }

    Reply api(const std::string& method, const std::string& path, const Json& body = nullptr,
              std::vector<std::pair<std::string, std::string>> headers = {}) const {
        headers.emplace_back("authorization", "Bearer " + key);
        return request(port, method, path, headers, body.is_null() ? "" : body.dump());
    }
    /// Of what nobody else is to learn: its answer is searched as well.
    Reply told(const std::string& method, const std::string& path, const Json& body = nullptr,
               std::vector<std::pair<std::string, std::string>> headers = {}, const std::set<std::string>& but = {}) {
        auto reply = api(method, path, body, std::move(headers));
        keep("the answer to " + method + " " + path.substr(0, path.find('?')), reply, but);
        return reply;
    }
    void keep(const std::string& what, const Reply& reply, const std::set<std::string>& but = {}) {
        std::string text = reply.body;
        for (const auto& [name, value] : reply.headers) text += "\n" + name + ": " + value;
        places.push_back({what, text, but});
    }
    Said cli(const std::vector<std::string>& arguments,
             const std::vector<std::pair<std::string, std::string>>& more = {}) {
        auto all = more;
        if (all.empty())
            all = {{"IMPRESARIO_URL", "http://127.0.0.1:" + std::to_string(port)}, {"IMPRESARIO_KEY", key}};
        auto said = run(arguments, all);
        places.push_back({"what impresario " + arguments[0] + " says", said.text});
        return said;
    }

    Behaviour answer(const Asked& asked) {
        const auto path = asked.path.substr(1, asked.path.find_first_of("/?", 1) - 1);
        const std::string said = echo(asked);
        if (path == "done")
            return {200, Json{{"status", "completed"}, {"result_data", {{"r", canaries_result_}}}}.dump()};
        if (path == "failed") {
            return {200, Json{{"status", "failed"},
                              {"error_data",
                               {{"message", echo_of_request(asked)}, {"request", said}, {"details", canaries_error_}}}}
                             .dump()};
        }
        if (path == "status")
            return {200, Json{{"status", "running"}, {"progress", {{"said", echo_of_request(asked)}}}}.dump()};
        if (path == "accept") return {202, said};
        if (path == "spans") {
            if (spans++ % 2 == 0) return {401, said};
            return {200, Json{{"partialSuccess", {{"rejectedSpans", 1}, {"errorMessage", said}}}}.dump()};
        }
        if (path == "500" || path == "422" || path == "403" || path == "429")
            return {std::stoi(path), said, {{"x-said", said.substr(0, 100).substr(0, said.find('\n'))}}};
        // Receivers and subscribers: what they say twice is no, then yes.
        const std::lock_guard lock(mutex_);
        const int times = asked_[path]++;
        if (times < 2) return {times == 0 ? 500 : 503, said};
        return {200, said};
    }

    TestDatabase database;
    Canaries canaries;
    std::string directory;
    int port = free_port();
    std::string key;
    std::vector<std::pair<std::string, std::string>> environment;
    std::unique_ptr<Mailbox> mailbox;
    std::unique_ptr<Mailbox> refusing_mailbox;
    std::unique_ptr<Running> hub;
    std::unique_ptr<Running> watch;
    std::vector<Place> places;
    std::atomic<int> spans{0};

  private:
    std::mutex mutex_;
    std::map<std::string, int> asked_;
    std::string canaries_result_ = canaries.plant("result");
    std::string canaries_error_ = canaries.plant("error_data");

  public:
    /// Whoever is told something over HTTP.
    Peer everybody;
};

/// Every row of every table, as text.
void search_tables(World& world) {
    const auto payloads = Canaries::payloads();
    const std::map<std::string, std::set<std::string>> holds{
        // What users gave and got: that is where it is kept.
        {"execution_inputs", {"input"}},
        {"execution_results", payloads},
        {"refused_callbacks", payloads},
        {"deliveries", payloads},
        // Addresses as their owners gave them.
        {"endpoints", {"type.endpoints.url", "type.endpoints.status_url"}},
        {"subscribers", {"subscriber.url"}},
    };
    world.database.transact([&](platform::Tx& tx) {
        const auto tables = tx.run(
            "select c.oid::regclass::text, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where "
            "c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')");
        std::size_t rows = 0;
        for (std::size_t i = 0; i < tables.size(); ++i) {
            const std::string table(tables.text(i, 0));
            const auto all = tx.run("select coalesce(string_agg(t::text, E'\\n'), ''), count(*) from " + table + " t");
            const auto found = holds.find(std::string(tables.text(i, 1)));
            rows += std::stoul(std::string(all.text(0, 1)));
            EXPECT_TRUE(world.canaries.untold(std::string(all.text(0, 0)),
                                              found == holds.end() ? std::set<std::string>{} : found->second))
                << "in the table " << table;
        }
        EXPECT_GT(tables.size(), 40U);
        EXPECT_GT(rows, 100U);
        const auto sessions = tx.run("select coalesce(string_agg(a::text, E'\\n'), '') from pg_stat_activity a");
        EXPECT_TRUE(world.canaries.untold(std::string(sessions.text(0, 0)))) << "in pg_stat_activity";
    });
}

/// What everybody on the machine can read of processes, and the environment of those that were given none.
void search_processes(const World& world, const std::set<pid_t>& given) {
    std::size_t looked_at = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto line = read(entry.path() / "cmdline");
        // npm's mail server is given its account so.
        if (line.empty() || line.starts_with("node")) continue;
        ++looked_at;
        EXPECT_TRUE(world.canaries.untold(line)) << "in the command line of process " << name;
        if (!given.contains(std::stoi(name)))
            EXPECT_TRUE(world.canaries.untold(read(entry.path() / "environ"))) << "in the environment of " << line;
    }
    EXPECT_GT(looked_at, 3U);
}

/// Everything that can be read over HTTP, by the list of the API itself.
void search_answers(World& world, const std::vector<std::string>& executions) {
    const auto list = world.api("GET", "/openapi.json").json();
    ASSERT_TRUE(list.contains("paths"));
    const std::map<std::string, std::vector<std::string>> names{{"workflow-types", {"of_the_file", "done", "failed"}},
                                                                {"subscribers", {"ear"}},
                                                                {"schedules", {"daily"}},
                                                                {"locks", {"lock"}},
                                                                {"timers", {"timer"}},
                                                                {"providers", {"provider"}},
                                                                {"budgets", {"budget"}}};
    std::vector<std::string> fingerprints;
    std::vector<std::string> incidents;
    const auto alerts = world.api("GET", "/v1/alerts?limit=500").json();
    for (const auto& alert : alerts.value("alerts", Json::array()))
        fingerprints.push_back(alert.value("fingerprint", ""));
    const auto notifications = world.api("GET", "/v1/notifications?limit=500").json();
    for (const auto& each : notifications.value("notifications", Json::array()))
        incidents.push_back(each.value("incident", ""));
    std::size_t asked = 0;
    for (const auto& [path, methods] : list["paths"].items()) {
        if (!methods.contains("get") || path == "/v1/events") continue;
        std::vector<std::string> targets{path};
        const auto fill = [&](const std::string& parameter, const std::vector<std::string>& values) {
            std::vector<std::string> filled;
            for (const auto& target : targets) {
                const auto at = target.find(parameter);
                if (at == std::string::npos) {
                    filled.push_back(target);
                    continue;
                }
                for (const auto& value : values) {
                    auto one = target;
                    filled.push_back(one.replace(at, parameter.size(), value));
                }
            }
            targets = filled;
        };
        fill("{id}", executions);
        fill("{fingerprint}", fingerprints);
        fill("{incident}", incidents);
        for (const auto& [room, all] : names)
            if (path.starts_with("/v1/" + room + "/")) fill("{name}", all);
        for (const auto& target : targets) {
            const auto reply = world.api("GET", target + (target.starts_with("/v1/fsck") ? "" : "?limit=500"));
            const auto again = reply.status == 422 ? world.api("GET", target) : reply;
            asked += again.status == 200;
            std::set<std::string> but;
            if (target.starts_with("/v1/executions") || target.starts_with("/v1/dead-letters"))
                but = Canaries::payloads();
            if (target.starts_with("/v1/workflow-types")) but = {"type.endpoints.url", "type.endpoints.status_url"};
            if (target.starts_with("/v1/subscribers") && !target.ends_with("s/ear/deliveries"))
                but = {"subscriber.url"};
            // Payloads are where the execution is looked at, not where it is listed, explained or told of.
            if (target.ends_with("/events") || target.ends_with("/explain") || target.ends_with("/attempts")) but = {};
            EXPECT_TRUE(world.canaries.untold(again.body, but)) << "in the answer to GET " << target;
        }
    }
    EXPECT_GT(asked, 40U);
    const auto last = "\nid: all." + world.database.value("select max(event_id) from events") + "\n";
    const auto stream =
        raw_exchange(world.port,
                     "GET /v1/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nlast-event-id: "
                     "all.0\r\nauthorization: Bearer " +
                         world.key + "\r\n\r\n",
                     60, [&](const std::string& got) { return got.find(last) != std::string::npos; });
    EXPECT_NE(stream.find(last), std::string::npos) << last << stream.substr(0, 500);
    EXPECT_NE(stream.find("execution."), std::string::npos) << stream.substr(0, 500);
    EXPECT_TRUE(world.canaries.untold(stream)) << "in the stream of events";
}

/// Each gets its own secrets and nobody else's.
void search_what_was_told(World& world) {
    const std::map<std::string, std::set<std::string>> own{
        {"slack", {"slack.url"}},
        {"hook", {"webhook.url", "webhook.bearer", "webhook.headers"}},
        {"page", {"pagerduty.url", "pagerduty.routing_key"}},
        {"am", {"alertmanager.bearer", "alertmanager.headers"}},
        {"spans", {"tracing.url", "tracing.authorization"}},
        {"ear", {"subscriber.url", "subscriber.bearer", "subscriber.headers"}},
    };
    const std::set<std::string> of_a_type{
        "type.bearer",       "type.headers", "type.endpoints.url", "type.endpoints.status_url", "file type.bearer",
        "file type.headers", "input",        "callback token"};
    std::set<std::string> who;
    for (const auto& asked : world.everybody.asked(true)) {
        const auto path = asked.path.substr(1, asked.path.find_first_of("/?", 1) - 1);
        who.insert(path);
        std::string text = asked.method + " " + asked.path + "\n" + asked.body;
        for (const auto& [name, value] : asked.headers) text += "\n" + name + ": " + value;
        const auto found = own.find(path);
        EXPECT_TRUE(world.canaries.untold(text, found == own.end() ? of_a_type : found->second))
            << "in what " << path << " was told";
    }
    for (const auto& [name, secrets] : own) EXPECT_TRUE(who.contains(name)) << name << " was told nothing";
    const auto letters = world.mailbox->came()["messages"];
    EXPECT_FALSE(letters.empty());
    for (std::size_t i = 0; i < letters.size(); ++i) {
        const auto letter = world.mailbox->message(i);
        EXPECT_TRUE(world.canaries.untold(letter));
        // Long lines are folded.
        EXPECT_TRUE(world.canaries.untold(std::regex_replace(letter, std::regex("=?\r\n"), "")));
    }
}

/// Executions that end, and fail, in every way.
std::vector<std::string> run_executions(World& world) {
    auto& canaries = world.canaries;
    const auto& everybody = world.everybody;
    Json definition{{"retry_policy", "none"},
                    {"bearer", canaries.plant("type.bearer")},
                    {"signing_secrets", {canaries.plant("type.signing_secrets")}},
                    {"headers", {{"x-type-key", canaries.plant("type.headers")}}}};
    const auto token = "?sig=" + canaries.plant("type.endpoints.url");
    const auto status_token = "?sig=" + canaries.plant("type.endpoints.status_url");
    const auto registered = [&](const std::string& name, const std::string& url, Json more = Json::object()) {
        auto all = definition;
        all["endpoints"] = {{{"url", url + token}}};
        all.merge_patch(more);
        const std::set<std::string> shown{"type.endpoints.url", "type.endpoints.status_url"};
        EXPECT_EQ(world.told("PUT", "/v1/workflow-types/" + name, all, {}, shown).status / 100, 2) << name;
    };
    for (const auto* path : {"done", "failed", "500", "422", "403", "429", "accept"})
        registered(path, everybody.url("/" + std::string(path)));
    registered("retried", everybody.url("/500"), {{"retry_policy", quick_retries(1)}});
    registered(
        "late", everybody.url("/accept"),
        {{"timeout_seconds", 1},
         {"endpoints",
          {{{"url", everybody.url("/accept") + token}, {"status_url", everybody.url("/status") + status_token}}}},
         {"max_runtime_seconds", 1}});
    registered("tls", "https://127.0.0.1:" + std::to_string(everybody.port()) + "/run");
    registered("nobody", "http://127.0.0.1:" + std::to_string(free_port()) + "/run");
    registered("unresolved", "http://canary.invalid/run");
    registered("egress", "http://10.0.0.1/run");

    const Json input{{"secret", canaries.plant("input")}};
    std::vector<std::string> ids;
    std::map<std::string, std::string> by_type;
    for (const auto* type : {"done", "failed", "500", "422", "retried", "of_the_file", "403", "429", "tls", "nobody",
                             "unresolved", "egress", "late", "accept"}) {
        const auto reply =
            world.told("POST", "/v1/executions", {{"workflow_type", type}, {"input", input}, {"context", input}}, {},
                       Canaries::payloads());
        EXPECT_EQ(reply.status, 201) << type << reply.body;
        ids.push_back(reply.json().value("execution_id", ""));
        by_type[type] = ids.back();
    }
    const auto trigger = [&](const std::string& type) {
        Asked found;
        EXPECT_TRUE(everybody.wait_until([&](const std::vector<Asked>& all) {
            for (const auto& asked : all)
                if (asked.json.is_object() && asked.execution_id() == by_type[type]) found = asked;
            return !found.body.empty();
        })) << type;
        return found;
    };
    // Callbacks: forged, of failure with all that was asked, late, again, another.
    for (const auto* type : {"accept", "late"}) {
        const auto asked = trigger(type);
        canaries.watch("callback token", asked.token().substr(4, 40));
        const auto path = "/v1/callbacks/" + asked.execution_id();
        const auto call_back = [&](const std::string& bearer, const Json& body) {
            const auto reply = request(world.port, "POST", path,
                                       {{"authorization", "Bearer " + bearer},
                                        {"cookie", "session=" + canaries.plant("cookie")},
                                        {"x-canary", canaries.plant("header")}},
                                       body.dump());
            world.keep("the answer to a callback", reply);
            return reply.status;
        };
        EXPECT_EQ(call_back("icb_" + canaries.plant("wrong callback token"), {{"status", "completed"}}), 401);
        if (std::string(type) == "late") {
            EXPECT_TRUE(eventually([&] {
                return world.api("GET", "/v1/executions/" + by_type[type]).json()["completed_at"].is_string();
            }));
            EXPECT_EQ(
                call_back(asked.token(),
                          {{"status", "completed"}, {"result_data", canaries.plant("result")}, {"said", echo(asked)}}),
                409);
            continue;
        }
        EXPECT_EQ(
            call_back(asked.token(), {{"status", "running"}, {"progress", {{"message", echo_of_request(asked)}}}}),
            200);
        const Json failure{{"status", "failed"},
                           {"error_data",
                            {{"message", echo_of_request(asked)},
                             {"request", asked.headers},
                             {"body", asked.body},
                             {"details", canaries.plant("error_data")}}},
                           {"result_data", canaries.plant("result")}};
        EXPECT_EQ(call_back(asked.token(), failure), 200);
        EXPECT_EQ(call_back(asked.token(), failure), 200) << "again";
        EXPECT_EQ(call_back(asked.token(), {{"status", "completed"}, {"result_data", echo(asked)}}), 409);
    }
    for (const auto* type : {"done", "failed", "500", "422", "retried", "of_the_file"}) {
        const auto end = world.api("GET", "/v1/executions/" + by_type[type] + "?wait=20").json();
        EXPECT_FALSE(end["completed_at"].is_null()) << end.dump(2);
    }
    for (const auto* type : {"403", "429", "tls", "nobody", "unresolved", "egress"})
        EXPECT_TRUE(eventually([&] {
            return world.api("GET", "/v1/executions/" + by_type[type] + "/deliveries").body.find("duration") !=
                   std::string::npos;
        })) << type;
    return ids;
}

TEST(Canary, NoSecretIsToldWhateverHappens) {
    World world;
    auto& canaries = world.canaries;
    world.start();
    world.watch = std::make_unique<Running>(
        std::vector<std::string>{program(), "watch", "--config",
                                 [&] {
                                     write(world.directory + "/watch.toml",
                                           "[watch]\nurls = ['http://127.0.0.1:" + std::to_string(world.port) +
                                               "']\nevery_seconds = 1\nafter_seconds = 1\nkey = {file = '" +
                                               world.directory + "/watch-key'}\n" + world.alerting());
                                     const auto viewer = world.make_key("viewer");
                                     canaries.watch("API key of the watch", viewer.substr(4, 30));
                                     write(world.directory + "/watch-key", viewer);
                                     return world.directory + "/watch.toml";
                                 }()},
        std::vector<std::pair<std::string, std::string>>{}, world.directory + "/watch.log");

    // A subscriber that answers 500 with what it got.
    const Json subscriber{{"url", world.everybody.url("/ear?key=" + canaries.plant("subscriber.url"))},
                          {"bearer", canaries.plant("subscriber.bearer")},
                          {"signing_secrets", {canaries.plant("subscriber.signing_secrets")}},
                          {"headers", {{"x-ear-key", canaries.plant("subscriber.headers")}}},
                          {"topics", {"executions", "lanes", "alerts"}},
                          {"backoff_seconds", 1},
                          {"workers", 1}};
    EXPECT_EQ(world.told("PUT", "/v1/subscribers/ear", subscriber, {}, {"subscriber.url"}).status, 201);
    world.told("POST", "/v1/subscribers/ear/test", Json::object());
    // What it makes itself is shown once.
    const auto rotated =
        world.api("POST", "/v1/subscribers/ear/rotate-signing-secret", Json::object(), {{"idempotency-key", "once"}});
    canaries.watch("rotated secret", rotated.json().value("signing_secret", "").substr(6, 40));

    // Receivers that refuse with all they got.
    for (const auto* name : {"slack", "hook", "page", "am", "mail", "shut"}) {
        world.told("POST", "/v1/receivers/" + std::string(name) + "/test", Json::object());
        world.cli({"alerts", "test", name});
    }
    // Alerts are raised while the executions below wait and end.
    world.told("POST", "/v1/pause", {{"workflow_type", "accept"}, {"reason", "test"}});
    world.told("PUT", "/v1/workflow-types/waiting", {{"endpoints", {world.everybody.url("/done")}}});
    world.told("POST", "/v1/pause", {{"workflow_type", "waiting"}, {"reason", "test"}});
    world.told("POST", "/v1/executions",
               {{"workflow_type", "waiting"}, {"input", {{"secret", canaries.plant("input")}}}}, {},
               Canaries::payloads());
    world.told("POST", "/v1/resume", {{"workflow_type", "accept"}});
    const auto executions = run_executions(world);
    search_processes(world, {world.hub->process().pid(), getpid()});

    // Requests that are refused, with secrets where they belong and where they do not.
    const std::vector<std::pair<std::string, std::string>> strange{{"cookie", "session=" + canaries.plant("cookie")},
                                                                   {"x-api-key", canaries.plant("header")},
                                                                   {"x-forwarded-for", canaries.plant("header")}};
    for (const auto& authorization :
         {"Bearer " + canaries.plant("wrong API key"),
          "Basic " + platform::base64("ada:" + canaries.plant("wrong key of another kind")),
          "Bearer " + canaries.plant("wrong key of another kind"), canaries.plant("wrong key of another kind")}) {
        auto headers = strange;
        headers.emplace_back("authorization", authorization);
        for (const auto* path : {"/v1/state", "/v1/nowhere", "/metrics", "/v1/executions"})
            world.keep("a refusal",
                       request(world.port, "GET", std::string(path) + "?token=" + canaries.plant("query"), headers));
    }
    for (const auto& [method, path] : {std::pair{"GET", "/v1/nowhere"},
                                       {"DELETE", "/v1/state"},
                                       {"GET", "/v1/executions"},
                                       {"GET", "/v1/executions/no-uuid"}})
        world.told(method, std::string(path) + "?token=" + canaries.plant("query"), nullptr, strange);
    for (const auto& [path, secret] :
         {std::pair{"/v1/workflow-types/wrong", "malformed"}, {"/v1/subscribers/wrong", "malformed"}}) {
        const auto text = canaries.plant(secret);
        for (const Json& wrong :
             {Json{{"bearer", text + "\r\nx: y"}}, Json{{"bearer", {text}}}, Json{{"signing_secrets", {text}}},
              Json{{"signing_secrets", text}}, Json{{"headers", {{"host", text}}}},
              Json{{"headers", {{"x-a", {text}}}}}, Json{{"headers", text}}, Json{{"headers", {{"x-a", text + "\n"}}}},
              Json{{"endpoints", {"http://ada:" + canaries.plant("user of a URL") + "@127.0.0.1/"}},
                   {"url", "http://ada:" + canaries.plant("user of a URL") + "@127.0.0.1/"}}}) {
            auto body = wrong;
            if (!body.contains("url") && std::string(path).find("subscribers") != std::string::npos)
                body["url"] = world.everybody.url("/ear");
            EXPECT_EQ(world.told("PUT", path, body).status, 422) << body;
        }
    }
    world.keep("a refusal", request(world.port, "POST", "/v1/executions", {{"authorization", "Bearer " + world.key}},
                                    "{\"workflow_type\": \"done\", \"input\": " + canaries.plant("malformed")));

    // Alerts have come through to everybody who takes them; who was told of executions has heard.
    EXPECT_TRUE(eventually([&] {
        return world.database.value("select count(distinct receiver) from notifications where state = 'delivered'") >=
               "5";
    }))
        << world.database.value(
               "select string_agg(receiver || ' ' || state || ' ' || coalesce(error, ''), E'\\n') from notifications");
    EXPECT_TRUE(eventually([&] { return world.api("GET", "/v1/subscribers/ear").json()["published"] > 10; }));
    EXPECT_TRUE(eventually([&] { return world.spans > 3; }));
    world.cli({"types", "show", "done"}, {{"IMPRESARIO_URL", "http://127.0.0.1:" + std::to_string(world.port)},
                                          {"IMPRESARIO_KEY", canaries.plant("wrong API key")}});
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"state"},
                                                                       {"alerts", "receivers"},
                                                                       {"alerts", "notifications"},
                                                                       {"subscribers", "show", "ear"},
                                                                       {"dead-letters", "list"},
                                                                       {"stalled"},
                                                                       {"nodes"},
                                                                       {"queue"}})
        if (arguments[0] != "subscribers") world.cli(arguments);

    search_answers(world, executions);
    search_tables(world);

    // The database goes away and comes back.
    world.database.shut();
    EXPECT_TRUE(eventually([&] { return world.told("GET", "/v1/executions").status == 503; }));
    EXPECT_TRUE(world.hub->await("database not reachable"));
    world.database.open();
    EXPECT_TRUE(eventually([&] {
        return request(world.port, "GET", "/readyz").status == 200 && world.api("GET", "/v1/executions").status == 200;
    }));
    world.told("GET", "/metrics");

    // And the hub for good, which the watch tells.
    world.hub->process().signal(SIGTERM);
    world.hub->process().wait();
    EXPECT_TRUE(world.watch->await("a message was not taken"));
    EXPECT_TRUE(world.watch->await("\"told\"") || world.watch->await("told")) << world.watch->log();
    search_processes(world, {getpid()});
    search_tables(world);
    search_what_was_told(world);
    world.places.push_back({"the log of the hub", world.hub->log()});
    world.places.push_back({"the log of the watch", world.watch->log()});
    for (const auto& kind : kKinds)
        EXPECT_TRUE(canaries.planted().contains(kind.name) || kElsewhere.contains(kind.name)) << kind.name;
    EXPECT_THAT(world.hub->log(), ::testing::HasSubstr("database not reachable"));
    for (const auto& place : world.places) EXPECT_TRUE(canaries.untold(place.text, place.but)) << "in " << place.what;
}

/// What is malformed is complained about, and not repeated.
TEST(Canary, NoMistakeRepeatsOne) {
    Canaries canaries;
    const auto directory = temporary_directory("canary");
    const auto secret = canaries.plant("malformed");
    const auto word = canaries.plant("command line").substr(2, 16);
    const std::string minimal =
        "[database]\nurl = 'host=/nowhere'\n[hub]\nkey = 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='\n";
    std::vector<std::string> files;
    for (const auto& [key, canary] : kKeys) {
        if (canary.empty() || key == "watch.key") continue;
        const auto dot = key.find('.');
        const auto section = "[" + key.substr(0, dot) + "]\n" + key.substr(dot + 1) + " = ";
        // Not quoted, of another kind, not closed, with a break.
        for (const auto& value : {word, "['" + secret + "']", "{secret = '" + secret + "'}", "'" + secret,
                                  "\"" + word + "\n\"", "\"" + word + "\\q\""})
            files.push_back(section + value + "\n");
        files.push_back(section + "'" + secret + "'\n" + (key == "hub.key" ? "" : "[hub]\nkey = 'x'\n"));
    }
    const std::string receiver = minimal + "[[alerts.receivers]]\nname = 'r'\ntype = ";
    for (const auto* type : {"'slack'", "'webhook'", "'email'", "'pagerduty'", "'alertmanager'", "'carrier pigeon'"})
        for (const auto& [key, canary] : kReceiverKeys)
            if (!canary.empty())
                for (const auto& value :
                     {"'" + secret + "'", "['" + secret + "']", word, "'http://ada:" + word + "@127.0.0.1/'"})
                    files.push_back(receiver + type + "\n" + key + " = " + value + "\n");
    for (const auto* table : {"[[workflow_types]]\nname = 'w'\n",
                              "[[alerts.receivers]]\nname = 'r'\ntype = 'webhook'\nurl = 'http://127.0.0.1'\n"})
        for (const auto& [key, canary] : kPeerKeys)
            for (const auto& value : {"'" + secret + "'", "['" + secret + "']", word,
                                      "{host = '" + secret + "', x-a = ['" + secret + "']}"})
                files.push_back(minimal + table + key + " = " + value + "\n");
    files.push_back(minimal + "[[workflow_types]]\nname = 'w'\nendpoints = ['http://ada:" + word + "@127.0.0.1/']\n");
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto file = directory + "/" + std::to_string(i) + ".toml";
        write(file, files[i]);
        const auto said = run({"serve", "--config", file}, {{"IMPRESARIO_HTTP_ADDRESS", "999.0.0.1"}});
        EXPECT_NE(said.code, 0) << files[i];
        EXPECT_TRUE(canaries.untold(said.text)) << "of\n" << files[i];
    }

    // Addresses of databases that libpq takes apart elsewhere than their owner meant.
    for (const auto& url :
         {"postgresql://ada:" + secret + "@127.0.0.1:1/x", "postgresql://ada:a@" + word + "@127.0.0.1:1/x",
          "postgresql://ada:a/" + word + "@127.0.0.1:1/x", "postgresql://ada:" + word + "#@127.0.0.1:1/x",
          "host=127.0.0.1 port=1 password=a " + word, "host=127.0.0.1 port=1 password='" + word,
          "host=127.0.0.1 port=1 password=" + word + " user", "ada:" + word + "@127.0.0.1/x"})
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"keys", "list"}, {"migrate", "status"}}) {
            auto option = command;
            option.insert(option.end(), {"--database-url", url});
            for (const auto& said : {run(command, {{"IMPRESARIO_DATABASE_URL", url}}), run(option)}) {
                EXPECT_NE(said.code, 0) << url;
                EXPECT_TRUE(canaries.untold(said.text)) << "of " << url;
            }
        }
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"state", "--url", "http://ada:" + word + "@127.0.0.1:1"},
                                               {"state", "--url", "http://127.0.0.1:1/?key=" + word},
                                               {"state", "--url", "ada:" + word},
                                               {"state", canaries.plant("wrong API key")},
                                               {"state", "--key", canaries.plant("wrong API key")}})
        EXPECT_TRUE(canaries.untold(run(arguments, {{"IMPRESARIO_KEY", canaries.plant("wrong API key")}}).text))
            << arguments.back();
    fs::remove_all(directory);
}

/// Whoever gives a secret on a command line is helped as far as one can be.
TEST(Canary, ACommandLineForgetsThem) {
    Canaries canaries;
    const Silence silence;
    const auto directory = temporary_directory("canary");
    const auto address = "host=127.0.0.1 connect_timeout=30 port=" + std::to_string(silence.port) + " password='" +
                         canaries.plant("command line") + "'";
    const auto definition = "{\"bearer\": \"" + canaries.plant("malformed").substr(1, 20) + "\"}";
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"keys", "list", "--database-url", address},
             {"keys", "list", "--database-url=" + address},
             {"types", "put", "work", definition, "--url", "http://127.0.0.1:" + std::to_string(silence.port)}}) {
        auto command = arguments;
        command.insert(command.begin(), program());
        Running running(command, {{"IMPRESARIO_KEY", canaries.plant("wrong API key")}}, directory + "/log");
        silence.taken();
        const auto line = read("/proc/" + std::to_string(running.process().pid()) + "/cmdline");
        EXPECT_NE(line.find(arguments[1]), std::string::npos) << line;
        EXPECT_TRUE(canaries.untold(line));
        running.process().signal(SIGKILL);
    }
    fs::remove_all(directory);
}

/// The services of ours.
TEST(Canary, NoServiceTellsOne) {
    Canaries canaries;
    const auto directory = temporary_directory("canary");
    const auto beside = [](const std::string& name) { return (fs::path(program()).parent_path() / name).string(); };
    const auto bearer = canaries.plant("service.bearer");
    const std::vector<std::pair<std::string, std::string>> environment{
        {"IMPRESARIO_SERVICE_BEARER", bearer},
        {"IMPRESARIO_SERVICE_SIGNING_SECRETS", canaries.plant("service.signing_secrets")},
        {"IMPRESARIO_EGRESS_ALLOW", "127.0.0.0/8"},
        {"CONTENT_PIPELINE_DATABASE_URL",
         "host=127.0.0.1 port=1 password='" + canaries.plant("content_pipeline.database_url") + "'"},
        {"INTELLIGENCE_ENGINE_HUB_URL", "http://127.0.0.1:1"},
        {"INTELLIGENCE_ENGINE_HUB_KEY", canaries.plant("intelligence_engine.hub_key")}};
    for (const auto* name : {"echo-service", "content_pipeline", "intelligence_engine"}) {
        const int port = free_port();
        Running service({beside(name), "--port", std::to_string(port)}, environment, directory + "/" + name);
        EXPECT_TRUE(eventually([&] { return request(port, "GET", "/").status != 0; })) << service.log();
        if (std::string(name) == "content_pipeline") EXPECT_TRUE(service.await("cannot be reached"));
        for (const auto& authorization : {"Bearer " + bearer, "Bearer " + canaries.plant("wrong callback token")})
            EXPECT_TRUE(
                canaries.untold(request(port, "POST", "/run", {{"authorization", authorization}}, bearer).body));
        const auto line = read("/proc/" + std::to_string(service.process().pid()) + "/cmdline");
        EXPECT_TRUE(canaries.untold(line + service.log())) << name;
        auto wrong = environment;
        wrong[1].second = canaries.plant("malformed");
        auto said = platform::ProcessSettings{};
        said.command = {beside(name)};
        said.environment = wrong;
        EXPECT_TRUE(canaries.untold(platform::run_command(std::move(said)).output)) << name;
    }
    fs::remove_all(directory);
}

}
}
