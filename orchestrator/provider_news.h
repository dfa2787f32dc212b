#pragma once
// What deliveries and callbacks teach about providers.

#include <string_view>
#include <vector>

#include "domain/callback.h"
#include "domain/execution.h"
#include "orchestrator/command.h"
#include "resource_manager/provider_weather.h"
#include "subworkflows/catalogue.h"

namespace impresario::orchestrator {

/// Of an endpoint that has had enough: the provider that its answer names (`"provider": "gemini"`; null: none, the
/// endpoint itself is full), or else the one that its type calls. With several nobody knows which: none is accused, the
/// endpoint alone is held.
std::vector<resource_manager::ProviderNews> provider_news_of(const DeliveryReported& report,
                                                             const subworkflows::WorkflowType* type);

/// Of the usage in a callback, as of what the attempt had been granted at `began`.
std::vector<resource_manager::ProviderNews> provider_news_of(const domain::Callback& callback,
                                                             const domain::ExecutionId& execution,
                                                             domain::TimePoint began, domain::TimePoint now,
                                                             const subworkflows::WorkflowType* type);

/// The longest patience that a provider asked for in it.
std::optional<domain::Duration> patience_asked(const domain::Callback& callback);

/// An execution's event carries them to a scheduler on another node.
void add_provider_news(platform::JsonWriter& payload, const std::vector<resource_manager::ProviderNews>& news);
std::vector<resource_manager::ProviderNews> provider_news_in(std::string_view payload);

}
