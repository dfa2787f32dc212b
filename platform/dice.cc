#include "platform/dice.h"

namespace impresario::platform {

std::uint64_t entropy_seed() {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
}

}
