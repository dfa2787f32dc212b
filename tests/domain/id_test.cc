#include "domain/id.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace impresario::domain {
namespace id_test {

// The order that PostgreSQL and memcmp have.
TEST(Id, IsOrderedAsItsBytes) {
    std::mt19937 dice(7);
    for (int round = 0; round < 2000; ++round) {
        std::array<std::uint8_t, 16> a{};
        std::array<std::uint8_t, 16> b{};
        for (auto& byte : a) byte = static_cast<std::uint8_t>(dice());
        b = a;
        // They differ from here on, if at all.
        const auto from = dice() % 17;
        for (auto i = from; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(dice());
        const int bytes = std::memcmp(a.data(), b.data(), a.size());
        EXPECT_EQ(ExecutionId{a} < ExecutionId{b}, bytes < 0) << from;
        EXPECT_EQ(ExecutionId{a} == ExecutionId{b}, bytes == 0) << from;
        EXPECT_EQ(ExecutionId{a} > ExecutionId{b}, bytes > 0) << from;
    }
}

}
}
