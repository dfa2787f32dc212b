// Locks for work that is not yet under the hub: one owner at a time, for as long as it says, with a fencing token.
#include <limits>

#include "api/api.h"
#include "api/problem.h"
#include "api/request_reader.h"
#include "platform/json_writer.h"
#include "platform/log.h"
#include "schedules/lock_store.h"

namespace impresario::api {

using platform::HttpResponse;
using platform::JsonWriter;
using platform::Task;
using platform::Tx;
using schedules::Lock;
using schedules::LockName;
using schedules::LockStore;
using std::chrono::steady_clock;

namespace {

constexpr int kUsualSeconds = 60;
constexpr int kLongestWaitSeconds = 60;
/// Who waits looks again so often, and less often the longer it takes.
constexpr std::chrono::milliseconds kFirstLook{200};
constexpr std::chrono::milliseconds kLongestLook{1000};
/// Of one node; who comes when so many wait is told at once.
constexpr int kMostWaiting = 200;

/// `token`: for who holds it, and nobody else.
void write_lock(JsonWriter& json, const Lock& lock, std::optional<std::int64_t> token) {
    json.open();
    json.field("name", lock.name).field("owner", lock.owner);
    if (token) json.field("token", *token);
    json.field("acquired_at", lock.acquired_at).field("held_until", lock.held_until).field("held", lock.held);
    if (lock.execution) json.field("execution_id", lock.execution->text());
    json.close();
}

HttpResponse lock_response(int status, const Lock& lock, std::optional<std::int64_t> token) {
    JsonWriter json;
    write_lock(json, lock, token);
    return json_response(status, std::move(json).text());
}

HttpResponse held_by(const Lock& lock, domain::TimePoint now) {
    auto response = problem(409, "locked",
                            lock.name + " is held by " + lock.owner + " until " + domain::rfc3339(lock.held_until) +
                                "; ask again, or wait for it with wait_seconds");
    const auto left = std::chrono::ceil<std::chrono::seconds>(lock.held_until - now).count();
    response.headers.emplace_back("retry-after", std::to_string(std::max<std::int64_t>(1, left)));
    return response;
}

HttpResponse being_asked_for(const std::string& name) {
    auto response = problem(409, "locked", name + " is just being asked for by somebody else; ask again");
    response.headers.emplace_back("retry-after", "1");
    return response;
}

HttpResponse not_held() {
    return problem(
        409, "not-held",
        "the lock is not held with this token by this API key any more: its time was over, it was released, or "
        "somebody broke it. Whoever holds it now may be at work: stop, and acquire it anew");
}

HttpResponse no_such_lock() { return problem(404, "not-found", "nobody holds this lock"); }

}

Task<HttpResponse> Api::list_locks(Call call) {
    auto asked = node_.database().read(
        [organization = call.caller.organization_id](Tx& tx) { return LockStore().list(tx, organization); });
    const auto locks = co_await std::move(asked);
    JsonWriter json;
    json.open();
    json.open("locks", '[');
    for (const auto& lock : locks) {
        JsonWriter one;
        write_lock(one, lock, std::nullopt);
        json.element(one.text());
    }
    json.close(']');
    json.close();
    co_return json_response(200, std::move(json).text());
}

Task<HttpResponse> Api::get_lock(Call call) {
    auto asked = node_.database().read([which = LockName{call.caller.organization_id, call.path["name"]}](Tx& tx) {
        return LockStore().find(tx, which);
    });
    const auto lock = co_await std::move(asked);
    if (!lock) co_return no_such_lock();
    co_return lock_response(200, *lock, std::nullopt);
}

/// 201: it is the caller's anew; 200: it was already. Who waits looks again until it has it or its wait is over; who
/// has gone away meanwhile has it until its time is over, and gets it by asking again.
Task<HttpResponse> Api::acquire_lock(Call call) {
    const LockName which{call.caller.organization_id, call.path["name"]};
    if (auto refused = refuse_name(which.name, schedules::kLongestLockName)) co_return *std::move(refused);
    if (auto refused = BodyReader::refuse_body(call.request.body)) co_return *std::move(refused);
    BodyReader body(call.request.body);
    const auto owner = body.text("owner", schedules::kLongestLockName);
    const int seconds = body.whole("ttl_seconds", 1, schedules::kLongestLockSeconds).value_or(kUsualSeconds);
    const int wait = body.whole("wait_seconds", 0, kLongestWaitSeconds).value_or(0);
    if (owner.empty() && body.faults().empty()) body.wrong("owner", "is missing: who holds it, one name for each run");
    body.nothing_else();
    if (!body.faults().empty()) co_return invalid(body.faults());

    const bool waits = wait > 0 && locks_waited_for_ < kMostWaiting;
    const auto until = steady_clock::now() + std::chrono::seconds{waits ? wait : 0};
    struct Waiting {
        int& count;
        ~Waiting() { --count; }
    } const waiting{++locks_waited_for_};
    for (auto look = kFirstLook;; look = std::min(look * 2, kLongestLook)) {
        auto looking = node_.database().read([which](Tx& tx) { return LockStore().find(tx, which); });
        const auto before = co_await std::move(looking);
        bool asked_for = false;
        if (!before || !before->held || (before->owner == owner && !before->execution)) {
            struct Asked {
                std::optional<std::int64_t> token;
                std::optional<Lock> lock;
            };
            try {
                auto asking = node_.database().transact([which, owner, key = call.caller.key, seconds](Tx& tx) {
                    Asked asked;
                    asked.token = LockStore().acquire(tx, which, owner, key, seconds);
                    asked.lock = LockStore().find(tx, which);
                    return asked;
                });
                const auto asked = co_await std::move(asking);
                if (asked.token && asked.lock) {
                    const bool known = before && before->held && before->token == *asked.token;
                    co_return lock_response(known ? 200 : 201, *asked.lock, asked.token);
                }
            } catch (const platform::StatementRefused& refused) {
                if (!refused.later()) throw;
                asked_for = true;
            }
        }
        const auto now = steady_clock::now();
        if (now >= until || draining_) {
            if (asked_for || !before || !before->held) co_return being_asked_for(which.name);
            co_return held_by(*before, node_.clock().now());
        }
        co_await platform::pause_for(std::min<steady_clock::duration>(look, until - now));
    }
}

namespace {
struct ByToken {
    std::int64_t token = 0;
    int seconds = kUsualSeconds;
    std::optional<HttpResponse> refused = std::nullopt;
};

ByToken read_token(std::string_view text, bool with_seconds) {
    ByToken read;
    if ((read.refused = BodyReader::refuse_body(text))) return read;
    BodyReader body(text);
    const auto token = body.large("token", 1, std::numeric_limits<std::int64_t>::max());
    if (!token && body.faults().empty()) body.wrong("token", "is missing: the one that acquiring it gave");
    if (with_seconds)
        read.seconds = body.whole("ttl_seconds", 1, schedules::kLongestLockSeconds).value_or(kUsualSeconds);
    body.nothing_else();
    if (!body.faults().empty()) read.refused = invalid(body.faults());
    read.token = token.value_or(0);
    return read;
}
}

Task<HttpResponse> Api::renew_lock(Call call) {
    auto read = read_token(call.request.body, true);
    if (read.refused) co_return *std::move(read.refused);
    const LockName which{call.caller.organization_id, call.path["name"]};
    auto renewing = node_.database().transact(
        [which, key = call.caller.key, token = read.token, seconds = read.seconds](Tx& tx) -> std::optional<Lock> {
            if (!LockStore().renew(tx, which, key, token, seconds)) return std::nullopt;
            return LockStore().find(tx, which);
        });
    const auto lock = co_await std::move(renewing);
    if (!lock) co_return not_held();
    co_return lock_response(200, *lock, read.token);
}

Task<HttpResponse> Api::release_lock(Call call) {
    auto read = read_token(call.request.body, false);
    if (read.refused) co_return *std::move(read.refused);
    const LockName which{call.caller.organization_id, call.path["name"]};
    auto releasing = node_.database().transact([which, key = call.caller.key, token = read.token](Tx& tx) {
        return LockStore().release(tx, which, key, token);
    });
    const bool released = co_await std::move(releasing);
    if (!released) co_return not_held();
    HttpResponse response;
    response.status = 204;
    co_return response;
}

Task<HttpResponse> Api::break_lock(Call call) {
    auto said = read_by_hand(call.request.body, 500);
    if (said.refused) co_return *std::move(said.refused);
    const LockName which{call.caller.organization_id, call.path["name"]};
    auto breaking = node_.database().transact([which](Tx& tx) { return LockStore().take_away(tx, which); });
    const auto lock = co_await std::move(breaking);
    if (!lock) co_return no_such_lock();
    platform::log::warn("a lock was broken", {{"lock", lock->name},
                                              {"owner", lock->owner},
                                              {"token", lock->token},
                                              {"by", call.caller.name},
                                              {"reason", said.reason}});
    co_return lock_response(200, *lock, std::nullopt);
}

}
