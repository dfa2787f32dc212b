#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "platform/sql.h"
#include "tests/support/database.h"

namespace impresario::platform {
namespace statement_identity_test {

// Texts that were made on different threads lay at addresses with the same low bits, and a callback was answered 500.
TEST(StatementIdentity, TextsFarApartAreNotTakenForEachOther) {
    constexpr std::size_t kApart = std::size_t{1} << 24;
    void* area = mmap(nullptr, 2 * kApart, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(area, MAP_FAILED);
    char* one = static_cast<char*>(area);
    char* two = one + kApart;
    std::strcpy(one, "select 1");
    std::strcpy(two, "select 2");
    testing::TestDatabase database;
    database.transact([&](Tx& tx) {
        const Rows first = tx.exec({"same_name", one});
        const Rows second = tx.exec({"same_name", two});
        EXPECT_EQ(RowReader(first, 0).small(), 1);
        EXPECT_EQ(RowReader(second, 0).small(), 2);
    });
    munmap(area, 2 * kApart);
}

}
}
