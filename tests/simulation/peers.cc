#include "simulation/peers.h"

#include "platform/callback_json.h"
#include "platform/json_text.h"
#include "platform/trigger_json.h"
#include "simulation/auditor.h"
#include "simulation/process.h"
#include "webhooks/callback_token.h"

namespace impresario::simulation {

using domain::Duration;
using platform::HttpAnswer;
using platform::HttpOutcome;
using platform::NoAnswer;
using platform::NotSent;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

HttpAnswer answered(int status, platform::Headers headers = {}, std::string body = {}) {
    HttpAnswer answer;
    answer.status = status;
    answer.headers = std::move(headers);
    answer.body = std::move(body);
    return answer;
}

/// What a callback is answered, as the peer sees it; status 503 where the hub could not say.
struct Said {
    int status = 503;
    orchestrator::Answer answer;
};

/// POST /v1/callbacks/{id}, as api/routes_callbacks does it.
platform::Task<void> receive(Process& by, domain::ExecutionId id, std::string token, std::string body,
                             std::function<void(Said)> answer) {
    Said said;
    try {
        const auto attempt = webhooks::verify_callback_token(by.node().keys(), id, token);
        auto callback = platform::parse_callback(body);
        if (!attempt || !callback) {
            said.status = 401;
        } else {
            orchestrator::CallbackReceived received;
            received.attempt = *attempt;
            received.callback = *std::move(callback);
            received.sha256 = std::string(platform::view(platform::sha256(body)));
            received.body = body;
            auto submitting = by.node().submit(id, std::move(received));
            const auto reply = co_await std::move(submitting);
            said.status = reply.answer.status;
            said.answer = reply.answer;
        }
    } catch (const std::exception&) {
        said.status = 503;
    }
    answer(std::move(said));
}

}

Peers::Peers(World& world, Chance chance) : world_(world), chance_(chance) {
    for (const auto& [lane, type] : world_.weather().catalogue.types)
        for (const auto& endpoint : type.endpoints) {
            Endpoint made;
            made.id = endpoint.id;
            made.lane = lane;
            made.deduplicates = endpoint.deduplicates ? *endpoint.deduplicates : chance_.happens(0.5);
            made.says_so = made.deduplicates && chance_.happens(0.7);
            endpoints_[platform::parse_url(endpoint.url)->port] = made;
        }
}

std::size_t Peers::running() const {
    std::size_t count = 0;
    for (const auto& [key, run] : runs_) count += run->ended || run->cancelled ? 0 : 1;
    return count;
}

void Peers::answer_after(Duration wait, Answer answer, HttpOutcome outcome) {
    world_.after(wait, [answer = std::move(answer), outcome = std::move(outcome)] { answer(outcome); });
}

void Peers::request(Process& from, std::string method, platform::Url url, platform::Headers headers, std::string body,
                    Answer answer) {
    ++world_.report().requests;
    if (from.cut_off() || world_.over())
        return answer_after(milliseconds{1}, std::move(answer), NoAnswer{"the process is gone", ""});
    const auto travel = chance_.delay(milliseconds{3}, milliseconds{200});
    world_.after(travel, [this, &from, method = std::move(method), url = std::move(url), headers = std::move(headers),
                          body = std::move(body), answer = std::move(answer)]() mutable {
        const auto back = chance_.delay(milliseconds{3}, milliseconds{100});
        if (method == "POST") return trigger(from, url.port, headers, body, std::move(answer));
        const auto attempt = domain::AttemptId::parse(platform::header(headers, "webhook-id"));
        const auto found = attempt ? runs_.find({url.port, *attempt}) : runs_.end();
        if (method == "DELETE") {
            if (found != runs_.end() && chance_.happens(0.7)) found->second->cancelled = true;
            return answer_after(back, std::move(answer), answered(found == runs_.end() ? 404 : 202));
        }
        // Its status URL.
        if (found == runs_.end() || found->second->starts == 0)
            return answer_after(back, std::move(answer), answered(chance_.happens(0.5) ? 404 : 200));
        if (found->second->ended && !found->second->result.empty())
            return answer_after(back, std::move(answer), answered(200, {}, found->second->result));
        if (found->second->ended) return answer_after(back, std::move(answer), answered(404));
        answer_after(back, std::move(answer), answered(200, {}, R"({"status":"running"})"));
    });
}

Peers::RunPtr Peers::start(int port, const domain::AttemptId& attempt, const domain::Trigger& trigger, bool and_run) {
    auto& run = runs_[{port, attempt}];
    if (!run) {
        run = std::make_shared<Run>();
        run->execution = trigger.execution_id;
        run->attempt = attempt;
        run->token = trigger.callback_token;
        run->endpoint = port;
    }
    if (run->starts > 0 && endpoints_.at(port).deduplicates) return run;
    ++run->starts;
    world_.auditor().started(run->execution, attempt, endpoints_.at(port).id);
    run->ended = false;
    if (and_run) play(run);
    return run;
}

void Peers::trigger(Process& from, int port, const platform::Headers& headers, const std::string& body, Answer answer) {
    const auto& endpoint = endpoints_.at(port);
    const auto attempt = domain::AttemptId::parse(platform::header(headers, "webhook-id"));
    auto trigger = platform::parse_trigger(body);
    if (!attempt || !trigger) return world_.fail("wire", "a trigger cannot be read: " + body);
    world_.auditor().asked(from, trigger->execution_id, *attempt);
    platform::Headers said;
    if (endpoint.says_so) said.emplace_back("webhook-deduplicates", "true");
    const auto back = chance_.delay(milliseconds{40}, seconds{6});

    const auto& weights = world_.weather().answers;
    enum Kind { accept, done, reject, overload, busy, failure, proxy, fault, silent_started, silent_lost, refused };
    const std::vector<int> shares{weights.accept,         weights.done,        weights.reject,       weights.overload,
                                  weights.busy,           weights.failure,     weights.proxy,        weights.fault,
                                  weights.silent_started, weights.silent_lost, weights.no_connection};
    int total = 0;
    for (const int share : shares) total += share;
    int drawn = chance_.between(0, total - 1);
    int kind = 0;
    while (drawn >= shares[static_cast<std::size_t>(kind)]) drawn -= shares[static_cast<std::size_t>(kind++)];
    if (world_.healed() && kind != done) kind = accept;
    if (world_.traced())
        world_.tell("  peer " + endpoint.lane.workflow_type + ":" + std::to_string(port) + " is asked by " +
                    from.name() + " about " + trigger->execution_id.text().substr(24) + " and draws " +
                    std::to_string(kind));
    switch (kind) {
        case done: {
            const auto run = start(port, *attempt, *trigger, false);
            if (run->ended || run->result.empty()) run->result = last_word(false);
            run->ended = true;
            return answer_after(back, std::move(answer), answered(200, said, run->result));
        }
        case reject:
            return answer_after(back, std::move(answer), answered(chance_.happens(0.5) ? 400 : 422));
        case overload:
            if (chance_.happens(0.7)) said.emplace_back("retry-after", std::to_string(chance_.between(1, 8)));
            return answer_after(back, std::move(answer), answered(429, said));
        case busy:
            said.emplace_back("retry-after", std::to_string(chance_.between(1, 5)));
            return answer_after(back, std::move(answer), answered(503, said));
        case failure:
            return answer_after(back, std::move(answer), answered(chance_.happens(0.7) ? 500 : 408, said));
        case proxy:
            if (chance_.happens(0.5)) start(port, *attempt, *trigger, true);
            return answer_after(back, std::move(answer), answered(chance_.happens(0.5) ? 502 : 504));
        case fault:
            return answer_after(back, std::move(answer),
                                answered(chance_.pick(std::vector<int>{301, 401, 403, 404, 405})));
        case silent_started:
            start(port, *attempt, *trigger, true);
            [[fallthrough]];
        case silent_lost:
            return answer_after(chance_.between(seconds{1}, seconds{20}), std::move(answer), NoAnswer{"timed out", ""});
        case refused:
            return answer_after(back, std::move(answer), NotSent{NotSent::Why::connect, "connection refused", ""});
        default:
            start(port, *attempt, *trigger, true);
            return answer_after(back, std::move(answer), answered(chance_.happens(0.9) ? 202 : 409, said));
    }
}

/// Each word is another one, so that two of them are never "the same again".
std::string Peers::last_word(bool hopeful) {
    const std::string n = std::to_string(++words_);
    const std::string metrics = chance_.happens(0.5) ? R"(,"metrics":{"items_processed":)" + n + R"(,"cost_usd":"0.)" +
                                                           std::to_string(chance_.between(1, 9)) + R"("})"
                                                     : "";
    const auto& runs = world_.weather().runs;
    int drawn =
        hopeful ? 0
                : chance_.between(0, runs.completed + runs.failed + runs.hopeless + runs.timeout + runs.partial - 1);
    const auto falls = [&](int share) {
        drawn -= share;
        return drawn < 0;
    };
    if (falls(runs.completed)) return R"({"status":"completed","result_data":{"n":)" + n + "}" + metrics + "}";
    if (falls(runs.failed)) {
        const std::string wait =
            chance_.happens(0.3) ? R"(,"retry_after_seconds":)" + std::to_string(chance_.between(0, 5)) : "";
        return R"({"status":"failed","error_data":{"message":"no )" + n + "\"" + wait + "}" + metrics + "}";
    }
    if (falls(runs.hopeless))
        return R"({"status":"failed","error_data":{"message":"never )" + n + R"(","retry_recommended":false})" +
               metrics + "}";
    if (falls(runs.timeout)) return R"({"status":"timeout","error_data":{"message":"late )" + n + "\"}" + metrics + "}";
    return R"({"status":"partial","items":[{"key":"a","status":"completed","n":)" + n +
           R"(},{"key":"b","status":"failed","error":"no"}])" + metrics + "}";
}

void Peers::play(const RunPtr& run) {
    const auto& runs = world_.weather().runs;
    const bool healed = world_.healed();
    auto length =
        chance_.happens(0.7) ? chance_.between(milliseconds{20}, seconds{4}) : chance_.between(seconds{2}, seconds{15});
    if (!healed && chance_.happens(runs.late)) length = chance_.between(seconds{10}, seconds{60});
    if (healed) length = chance_.between(milliseconds{20}, seconds{2});
    if (!healed && chance_.happens(runs.early)) length = milliseconds{0};
    const bool beats = chance_.happens(runs.heartbeats);
    if (beats)
        for (int i = 1; i <= 3; ++i)
            world_.after(length * i / 4, [this, run, i] {
                if (run->cancelled || run->ended) return;
                call_back(run,
                          R"({"status":"running","progress":{"done":)" + std::to_string(i) + R"(},"cost_usd":"0.0)" +
                              std::to_string(i) + "\"}",
                          20);
            });
    const int never = healed ? 0 : runs.never;
    const bool ends = chance_.between(1, 100) > never;
    world_.after(length, [this, run, ends] {
        if (run->cancelled) return;
        run->ended = true;
        if (!ends) return;
        run->result = last_word(world_.healed());
        call_back(run, run->result);
        const auto& weather = world_.weather().runs;
        if (chance_.happens(weather.twice))
            world_.after(chance_.between(milliseconds{0}, seconds{6}),
                         [this, run, word = run->result] { call_back(run, word); });
        if (chance_.happens(weather.contradiction))
            world_.after(chance_.between(milliseconds{0}, seconds{6}),
                         [this, run] { call_back(run, last_word(false)); });
    });
}

void Peers::call_back(const RunPtr& run, const std::string& body, int tries) {
    if (tries > 25 || world_.over()) return;
    const auto again = [this, run, body, tries] {
        world_.after(chance_.between(milliseconds{300}, seconds{3}),
                     [this, run, body, tries] { call_back(run, body, tries + 1); });
    };
    const auto open = world_.open_processes();
    if (open.empty()) return again();
    Process* to = chance_.pick(open);
    const auto travel = chance_.delay(milliseconds{3}, milliseconds{150});
    world_.after(travel, [this, run, body, to, again] {
        if (!to->open()) return again();
        const auto heard = std::make_shared<bool>(false);
        to->spawn(
            receive(*to, run->execution, run->token.reveal(), body, [this, run, body, to, heard, again](Said said) {
                if (*heard || to->cut_off()) return;
                *heard = true;
                if (world_.traced())
                    world_.tell("  " + to->name() + " answers " + std::to_string(said.status) + " " +
                                said.answer.problem + " to " + body.substr(0, 40) + " about " +
                                run->execution.text().substr(24));
                if (said.status == 503) return again();
                world_.auditor().answered(run->execution, run->attempt, body, said.status, said.answer);
            }));
        world_.after(seconds{12}, [heard, again] {
            if (std::exchange(*heard, true)) return;
            again();
        });
    });
}

}
