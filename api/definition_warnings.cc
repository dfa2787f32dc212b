#include "api/definition_warnings.h"

#include <algorithm>

#include "domain/need_amounts.h"
#include "platform/json_writer.h"
#include "resource_manager/limiter.h"

namespace impresario::api {

using resource_manager::Budget;
using resource_manager::Provider;
using subworkflows::Catalogue;
using subworkflows::WorkflowType;

namespace {

bool registered(const std::vector<Provider>& providers, const std::string& name) {
    return std::any_of(providers.begin(), providers.end(), [&](const Provider& each) { return each.name == name; });
}

/// What it asks whatever the input is: what an input says is looked at when it is there.
domain::Need constant_part(domain::Need need, const WorkflowType& type) {
    for (const auto& each : type.from_input)
        if (each.provider == need.provider) domain::amount_in(need, each.part) = 0;
    return need;
}

std::string quoted(const std::string& name) { return "'" + name.substr(0, 64) + "'"; }

/// Empty: of all organizations.
bool of_organization(const domain::Lane& lane, const std::string& organization_id) {
    return organization_id.empty() || lane.organization_id == organization_id;
}

}

Warnings warnings_of(const WorkflowType& type, const std::vector<Provider>& providers) {
    Warnings warnings;
    for (std::size_t i = 0; i < type.needs.size(); ++i) {
        const auto& need = type.needs[i];
        const auto at = "/call_estimates/" + std::to_string(i);
        if (!registered(providers, need.provider)) {
            warnings.push_back({at + "/provider", quoted(need.provider) +
                                                      " is not registered, so nothing limits its calls; correct the "
                                                      "name, or set limits with PUT /v1/providers/" +
                                                      need.provider});
        } else if (auto why = resource_manager::never_fits(providers, {constant_part(need, type)})) {
            warnings.push_back({at, *std::move(why)});
        }
    }
    return warnings;
}

Warnings warnings_of(const Provider& provider, const Catalogue& catalogue) {
    Warnings warnings;
    for (std::size_t i = 0; i < provider.limits.size(); ++i)
        for (const auto& [lane, type] : catalogue.types)
            for (const auto& need : type.needs) {
                if (need.provider != provider.name) continue;
                const auto& limit = provider.limits[i];
                const auto why = resource_manager::never_given(limit, limit.amount(constant_part(need, type)));
                if (!why) continue;
                warnings.push_back({"/limits/" + std::to_string(i),
                                    "the workflow type " + quoted(lane.workflow_type) + " of " + lane.organization_id +
                                        " " + *why + "; raise the limit, or have the type ask for less at a time"});
            }
    return warnings;
}

Warnings warnings_of(const Budget& budget, const Catalogue& catalogue, const std::vector<Provider>& providers) {
    Warnings warnings;
    const auto& scope = budget.scope;
    const auto any_type = [&](auto fits) {
        return std::any_of(catalogue.types.begin(), catalogue.types.end(), [&](const auto& each) {
            return of_organization(each.first, scope.organization_id) && fits(each.second);
        });
    };
    const auto named = [&](const WorkflowType& type) { return type.lane.workflow_type == scope.workflow_type; };
    const auto calls = [&](const WorkflowType& type) {
        return std::any_of(type.needs.begin(), type.needs.end(),
                           [&](const auto& need) { return need.provider == scope.provider; });
    };
    if (!scope.workflow_type.empty() && !any_type(named))
        warnings.push_back({"/scope/workflow_type",
                            quoted(scope.workflow_type) + " is no workflow type" +
                                (scope.organization_id.empty() ? "" : " of " + quoted(scope.organization_id)) +
                                " yet; until it is registered, nothing counts for this budget. Is it misspelt?"});
    if (!scope.provider.empty() && !registered(providers, scope.provider) && !any_type(calls))
        warnings.push_back({"/scope/provider",
                            quoted(scope.provider) +
                                " is not registered and no workflow type calls it; until one does, nothing counts for "
                                "this budget. Is it misspelt?"});
    return warnings;
}

std::string with_warnings(std::string object, const Warnings& warnings) {
    platform::JsonWriter json;
    json.open();
    json.open("warnings", '[');
    for (std::size_t i = 0; i < std::min(warnings.size(), kMostFaults); ++i) {
        json.open();
        json.field("pointer", warnings[i].pointer).field("detail", warnings[i].what);
        json.close();
    }
    json.close(']');
    json.close();
    object.back() = ',';
    return object + std::move(json).text().substr(1);
}

}
