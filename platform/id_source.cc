#include "platform/id_source.h"

#include <cstring>

#include "platform/crypto.h"

namespace impresario::platform {

std::array<std::uint8_t, 16> IdSource::next(domain::TimePoint now) {
    const std::string random = random_bytes(10);
    std::array<std::uint8_t, 16> id{};
    std::memcpy(id.data() + 6, random.data(), 10);

    std::lock_guard lock(mutex_);
    const std::int64_t millis = domain::micros(now) / 1000;
    if (millis > last_millis_) {
        last_millis_ = millis;
        // Starts low enough that a millisecond's ids rarely spill over into the next.
        counter_ = static_cast<std::uint16_t>((id[6] << 8 | id[7]) & 0x3ff);
    } else if (++counter_ > 0xfff) {
        ++last_millis_;
        counter_ = 0;
    }
    for (int i = 0; i < 6; ++i)
        id[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(last_millis_ >> (40 - 8 * i));
    id[6] = static_cast<std::uint8_t>(0x70 | counter_ >> 8);
    id[7] = static_cast<std::uint8_t>(counter_ & 0xff);
    id[8] = static_cast<std::uint8_t>(0x80 | (id[8] & 0x3f));
    return id;
}

}
