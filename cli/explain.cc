// impresario explain: why an execution does not run, and what would start it.
#include <cstdio>

#include "cli/client.h"
#include "cli/client_command.h"
#include "cli/terminal.h"
#include "platform/url.h"

namespace impresario::cli {

namespace {

using Json = nlohmann::json;

struct ExplainOptions {
    ClientOptions client;
    std::string id;
    std::string at;
};

void line(const char* name, const std::string& value) {
    if (!value.empty()) std::printf("%-14s%s\n", name, value.c_str());
}

std::string number(const Json& value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value.get<double>());
    return text;
}

std::string score_text(const Json& score) {
    std::string text = number(score["total"]) + " = " + number(score["priority"]) + " priority + " +
                       number(score["age"]) + " age + " + number(score["starvation"]) + " waiting";
    if (score.value("beyond_max_wait", false)) text += "; it has waited too long and goes before all scores";
    if (!cell(score, "change").empty())
        text += "; at " + clock_of(cell(score, "changes_at")) + " " + cell(score, "change");
    return text;
}

std::string rank_text(const Json& rank) {
    const auto note = cell(rank, "note");
    if (cell(rank, "lane").empty()) return note;
    return cell(rank, "lane") + " in its lane, " + cell(rank, "overall") + " in all" +
           (rank.value("at_least", false) ? ", or further behind" : "") + (note.empty() ? "" : " (" + note + ")");
}

std::string gate_text(const Json& gate) {
    if (!gate.is_object()) return {};
    std::string text = cell(gate, "kind") + " (" + cell(gate, "subject") + "): " + cell(gate, "detail");
    if (!gate["numbers"].empty()) text += "  " + gate["numbers"].dump();
    return text;
}

std::string expected_text(const Json& expected) {
    if (!expected.is_object()) return {};
    const auto earliest = clock_of(cell(expected, "earliest"));
    const auto latest = clock_of(cell(expected, "latest"));
    return (latest.empty() ? "unknown, not before " + earliest : "between " + earliest + " and " + latest) + ": " +
           cell(expected, "why");
}

void print_gates(const Json& gates) {
    if (gates.empty()) return;
    Table table({"gate", "of", "subject", "since", "until", "times", "turns", "closed s", "why"});
    for (const auto& gate : gates)
        table.add({cell(gate, "kind"), cell(gate, "of"), cell(gate, "subject"), clock_of(cell(gate, "since")),
                   cell(gate, "until").empty() ? "now" : clock_of(cell(gate, "until")), cell(gate, "times"),
                   cell(gate, "seen"), gate["closed_seconds"].is_null() ? "" : number(gate["closed_seconds"]),
                   cell(gate, "detail")});
    std::printf("\n");
    table.print();
}

void print_explanation(const Json& answer) {
    line("execution", cell(answer, "execution_id"));
    line("type", cell(answer, "workflow_type"));
    if (answer.value("past", false)) line("at", clock_of(cell(answer, "at")));
    std::printf("%-14s%s\n", "status",
                painted(cell(answer, "status"), colour_of_status(cell(answer, "status"))).c_str());
    line("why", cell(answer, "why"));
    if (answer["score"].is_object()) line("score", score_text(answer["score"]));
    if (answer["rank"].is_object()) line("rank", rank_text(answer["rank"]));
    line("stopped by", gate_text(answer["blocker"]));
    line("since", answer["blocker"].is_object() ? clock_of(cell(answer["blocker"], "since")) : "");
    for (const auto& gate : answer["behind_it"]) line("and by", gate_text(gate));
    if (answer["change"].is_object()) {
        line("to start it", cell(answer["change"], "what"));
        line("", cell(answer["change"], "command"));
    }
    line("expected", expected_text(answer["expected_start"]));
    for (const auto& note : answer["notes"]) line("note", note.get<std::string>());
    if (answer["before"].is_object() && !answer["before"]["first"].empty()) {
        Table table({"before it", "priority", "score", "created"});
        for (const auto& each : answer["before"]["first"])
            table.add({cell(each, "execution_id"), cell(each, "priority"), number(each["score"]),
                       clock_of(cell(each, "created_at"))});
        std::printf("\n");
        table.print();
    }
    print_gates(answer["gates"]);
}

int explain(const ExplainOptions& o) {
    std::string path = "/v1/executions/" + platform::percent_encode(o.id) + "/explain";
    if (!o.at.empty()) path += "?at=" + platform::percent_encode(o.at);
    const auto answer = Client(o.client).ask("GET", path);
    if (o.client.wants_json()) {
        print(answer);
    } else {
        print_explanation(answer);
    }
    return Exit::ok;
}

}

void add_explain(Commands commands) {
    auto o = std::make_shared<ExplainOptions>();
    auto* c = commands.app.add_subcommand("explain", "Why an execution does not run, and what would start it");
    c->add_option("execution-id", o->id, "From list")->required();
    c->add_option("--at", o->at, "How it stood at this RFC 3339 time");
    o->client.add_to(c);
    c->footer(
        "Examples:\n  impresario explain 018f3c1e-7b2a-7def-8123-456789abcdef\n"
        "  impresario explain 018f3c1e-7b2a-7def-8123-456789abcdef --at 2026-11-27T22:23:11Z");
    Action& chosen = commands.chosen;
    c->callback([&chosen, o] { chosen = guarded([o] { return explain(*o); }); });
}

}
