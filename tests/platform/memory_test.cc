#include "platform/memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace impresario::platform {
namespace {

TEST(Memory, WhatWasFreedIsGivenBackAtOnce) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer keeps what was freed";
#endif
    constexpr std::size_t kSmall = 256;
    std::vector<std::unique_ptr<char[]>> many(400'000);
    const auto before = resident_mb();
    for (auto& each : many) {
        each = std::make_unique<char[]>(kSmall);
        each[0] = 'x';
    }
    const auto most = resident_mb();
    ASSERT_GE(most - before, 90);
    for (auto& each : many) each.reset();
    give_back_memory();
    EXPECT_LT(resident_mb(), before + (most - before) / 4);
}

}
}
