// libFuzzer's way in; built once for each target, whose name is FUZZ_TARGET.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    impresario::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
