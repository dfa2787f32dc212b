#include "orchestrator/fsck.h"

#include <algorithm>
#include <map>
#include <set>

#include "orchestrator/budget_events.h"
#include "orchestrator/lane_events.h"
#include "orchestrator/node_events.h"
#include "orchestrator_sql.h"
#include "platform/json_writer.h"
#include "resource_manager/ledger_store.h"

namespace impresario::orchestrator {

using platform::JsonWriter;
using platform::Params;
using platform::RowReader;
using platform::Tx;
using resource_manager::LedgerStore;

namespace {

/// Most findings of a check that are shown; of each lane one goes before any second.
constexpr int kMostFindings = 100;
constexpr std::string_view kPausedBy = "fsck";
/// Those that know of a repair.
constexpr std::string_view kBalances = "balances";
constexpr std::string_view kHeldMoney = "held_money";

struct Known {
    Check check;
    /// nullptr: the ledger's own.
    const platform::Statement* statement;
};

const std::vector<Known>& known() {
    static const std::vector<Known> all{
        {{"scheduler", "R1", "one node leads, for a lease at a time"}, &sql::fsck_scheduler},
        {{"attempts", "P2", "an execution's attempts are numbered without gaps and one of them lives at most"},
         &sql::fsck_attempts},
        {{"attempt_ids", "P2", "a webhook id is one attempt"}, &sql::fsck_attempt_ids},
        {{"deliveries", "P2", "no request leaves that was not counted"}, &sql::fsck_deliveries},
        {{"slots", "P5", "a slot has a deadline, and whatever has not ended has something that moves it"},
         &sql::fsck_slots},
        {{"ended", "P3", "what has ended holds nothing"}, &sql::fsck_ended},
        {{"outcomes", "P3", "each opening that has ended has one outcome, and the status is the last"},
         &sql::fsck_outcomes},
        {{"results", "P3", "what is completed has its result, what is dead its dead letter"}, &sql::fsck_results},
        {{"retries", "S04", "nothing is tried oftener than its policy says"}, &sql::fsck_retries},
        {{"children", "R12", "a parent waits for children that have not ended"}, &sql::fsck_children},
        {{"overdue", "P7", "times that have come are seen to"}, &sql::fsck_overdue},
        {{kBalances, "P4", "a budget's balances are the sums of its entries"}, nullptr},
        {{"entries", "P4", "what leaves one account enters another, and none has less than nothing"},
         &sql::fsck_entries},
        {{kHeldMoney, "P4", "money is held for attempts that are under way"}, &sql::fsck_held_money},
        {{"reservations", "P4", "what is held for an attempt under way is in the ledger"}, &sql::fsck_reservations},
        {{"costs", "P4", "an execution cost what its attempts cost, and that is booked"}, &sql::fsck_costs},
        {{"permits", "P5", "what is charged to a provider is an attempt"}, &sql::fsck_permits},
        {{"events", "P8", "an execution's events have no gaps"}, &sql::fsck_events},
        {{"streams", "P8", "the events of lanes, budgets, providers and nodes have no gaps"}, &sql::fsck_streams},
    };
    return all;
}

Checked read(const platform::Rows& rows) {
    Checked checked;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        checked.found = row.integer();
        Finding finding;
        finding.lane.organization_id = row.text();
        finding.lane.workflow_type = row.text();
        finding.subject = row.text();
        finding.what = row.text();
        finding.repairable = row.flag();
        checked.findings.push_back(std::move(finding));
    }
    return checked;
}

Finding finding_of(const LedgerStore::Mismatch& mismatch) {
    Finding finding;
    finding.lane = {mismatch.organization_id, mismatch.workflow_type};
    finding.subject = "budget " + (mismatch.name.empty() ? mismatch.budget.text() : mismatch.name);
    const auto said = [](const std::string& three) { return three.empty() ? "no balance" : three; };
    finding.what = "from " + domain::rfc3339(mismatch.window.start) + ": settled, reserved, suspense are " +
                   said(mismatch.balance) + " USD, its entries say " + mismatch.entries;
    if (mismatch.name.empty())
        finding.what += "; there is no such budget";
    else if (!mismatch.repairable)
        finding.what += ", which cannot be either";
    finding.repairable = mismatch.repairable;
    return finding;
}

Checked read(const std::vector<LedgerStore::Mismatch>& mismatches) {
    Checked checked;
    checked.found = static_cast<std::int64_t>(mismatches.size());
    // What cannot be repaired comes first: it holds lanes.
    for (const bool repairable : {false, true})
        for (const auto& each : mismatches)
            if (each.repairable == repairable && checked.findings.size() < kMostFindings)
                checked.findings.push_back(finding_of(each));
    return checked;
}

void tell_repaired(Tx& tx, const LedgerStore::Mismatch& mismatch, const Fsck::Hands& hands) {
    JsonWriter json;
    json.open();
    json.field("by", hands.by)
        .field("window_start", domain::rfc3339(mismatch.window.start))
        .field("window_end", domain::rfc3339(mismatch.window.end))
        .field("was", mismatch.balance)
        .field("is", mismatch.entries);
    json.close();
    append_budget_event(tx, mismatch.budget, hands.writer, domain::event::budget_repaired, std::move(json).text());
}

/// Looks once more, now that nobody books.
Checked rebuild_balances(Tx& tx, const Fsck::Hands& hands) {
    const auto wrong = LedgerStore().repair(tx);
    auto checked = read(wrong);
    for (const auto& each : wrong) {
        if (!each.repairable) continue;
        tell_repaired(tx, each, hands);
        ++checked.repaired;
    }
    for (auto& finding : checked.findings)
        if (finding.repairable) finding.done = "repaired: it is what its entries say";
    return checked;
}

void settle_held(Tx& tx, Checked& checked) {
    const auto rows = tx.exec(sql::fsck_settle_held);
    std::set<std::string> settled;
    for (std::size_t i = 0; i < rows.size(); ++i) settled.insert("attempt " + RowReader(rows, i).text());
    for (auto& finding : checked.findings) {
        if (!settled.contains(finding.subject)) continue;
        finding.done = "repaired: the scheduler settles it by what is held, as it may have run";
        ++checked.repaired;
    }
}

std::string alert_payload(const Check& check, const Finding& finding, std::int64_t found, const std::string& by) {
    JsonWriter json;
    json.open();
    json.field("check", check.name)
        .field("promise", check.promise)
        .field("says", check.says)
        .field("subject", finding.subject)
        .field("what", finding.what)
        .field("found", found)
        .field("by", by)
        .field("alert", true);
    json.close();
    return std::move(json).text();
}

bool concerns_no_lane(const Finding& finding) { return finding.lane.organization_id.empty(); }

/// The lanes that a finding is about.
std::vector<domain::Lane> lanes_of(const Finding& finding, const subworkflows::Catalogue& catalogue) {
    std::vector<domain::Lane> lanes;
    subworkflows::PauseRecord all;
    all.organization_id = finding.lane.organization_id;
    all.workflow_type = finding.lane.workflow_type;
    for (const auto& [lane, type] : catalogue.types)
        if (all.covers(type)) lanes.push_back(lane);
    return lanes;
}

bool held_already(const domain::Lane& lane, const subworkflows::Catalogue& catalogue) {
    return std::any_of(catalogue.pauses.begin(), catalogue.pauses.end(), [&](const auto& pause) {
        return pause.by == kPausedBy && pause.organization_id == lane.organization_id &&
               pause.workflow_type == lane.workflow_type;
    });
}

void hold(Tx& tx, const domain::Lane& lane, const Check& check, const Finding& finding, std::int64_t found,
          const Fsck::Hands& hands) {
    subworkflows::PauseRecord pause;
    pause.organization_id = lane.organization_id;
    pause.workflow_type = lane.workflow_type;
    pause.by = kPausedBy;
    pause.reason = std::string(check.promise) + " is broken (" + std::string(check.name) + "): " + finding.subject +
                   " " + finding.what;
    hands.store.pause(tx, pause);
    tell_lanes(tx, hands.store, hands.catalogue, pause, hands.writer, domain::event::lane_paused);
    append_lane_event(tx, hands.store, lane, hands.writer, domain::event::lane_promise_broken,
                      alert_payload(check, finding, found, hands.by));
}

}

const std::vector<Check>& Fsck::checks() {
    static const std::vector<Check> all = [] {
        std::vector<Check> made;
        for (const auto& each : known()) made.push_back(each.check);
        return made;
    }();
    return all;
}

const Check* Fsck::find(std::string_view name) {
    const auto& all = checks();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Check& check) { return check.name == name; });
    return found == all.end() ? nullptr : &*found;
}

Checked Fsck::look(Tx& tx, const Check& check) const {
    for (const auto& each : known())
        if (each.check.name == check.name && each.statement)
            return read(tx.exec(*each.statement, Params().add(kMostFindings)));
    return read(LedgerStore().mismatches(tx));
}

Checked Fsck::mend(Tx& tx, const Check& check, const Hands& hands) const {
    auto checked = look(tx, check);
    if (checked.found == 0) return checked;
    const bool any = std::any_of(checked.findings.begin(), checked.findings.end(),
                                 [](const auto& finding) { return finding.repairable; });
    if (any && check.name == kBalances) checked = rebuild_balances(tx, hands);
    if (any && check.name == kHeldMoney) settle_held(tx, checked);
    std::map<domain::Lane, bool> lanes;
    bool node_told = false;
    for (auto& finding : checked.findings) {
        if (!finding.done.empty()) continue;
        const bool budget = concerns_no_lane(finding) && check.name == kBalances;
        if (concerns_no_lane(finding) && !budget) {
            if (!node_told)
                append_node_event(tx, hands.writer, domain::event::node_promise_broken,
                                  alert_payload(check, finding, checked.found, hands.by));
            node_told = true;
            finding.done = "told in the node's events; it concerns no lane that could be held";
            continue;
        }
        std::string held;
        for (const auto& lane : lanes_of(finding, hands.catalogue)) {
            const auto [at, first] = lanes.emplace(lane, !held_already(lane, hands.catalogue));
            if (first && at->second) {
                hold(tx, lane, check, finding, checked.found, hands);
                checked.held.push_back(lane);
            }
            held += (held.empty() ? "" : ", ") + lane.workflow_type + (at->second ? "" : " (before)");
        }
        finding.done = held.empty() ? "" : "held until it is resumed: " + held;
    }
    return checked;
}

}
