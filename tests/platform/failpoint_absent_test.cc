// A release: built without IMPRESARIO_FAILPOINTS, nothing is left of a place but what it is around.
#undef IMPRESARIO_FAILPOINTS
#include <gtest/gtest.h>

#include "platform/failpoint.h"

namespace impresario::platform {
namespace failpoint_absent_test {

constexpr failpoint::Fault kNothing = failpoint::at("sql.", "commit");
static_assert(!kNothing.error && !kNothing.done_then_error && kNothing.delay.count() == 0,
              "known while compiling, so that every branch on it is left out");

Task<int> seven() { co_return 7; }

TEST(FailpointAbsent, ASocketCallIsItself) {
    asio::io_context io;
    int brought = 0;
    asio::co_spawn(io, failpoint::call("http.client.write", seven()),
                   [&](const std::exception_ptr&, int value) { brought = value; });
    io.run();
    EXPECT_EQ(brought, 7);
}

}
}
