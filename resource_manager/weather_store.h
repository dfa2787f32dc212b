#pragma once
// How providers do, in the database. Borrows a transaction. Stateless; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/sql.h"
#include "resource_manager/provider_weather.h"

namespace impresario::resource_manager {

class WeatherStore {
  public:
    WeatherRecords load(platform::Tx& tx) const;

    /// The next event of a provider's stream.
    struct Place {
        std::array<std::uint8_t, 16> stream{};
        int seq = 0;
    };
    /// As the scheduler knows it. `told`: an event goes with it. nullopt: somebody has set it by hand since.
    std::optional<Place> record(platform::Tx& tx, const std::string& provider, const WeatherRecord& record,
                                bool told) const;
    /// By hand: cooling until then, or fair weather. An event goes with it. nullopt: there is no such provider.
    std::optional<Place> set(platform::Tx& tx, const std::string& provider,
                             const std::optional<domain::TimePoint>& cooling_until, const std::string& why,
                             const std::string& by) const;
};

}
