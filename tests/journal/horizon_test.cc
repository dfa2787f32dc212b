#include "journal/horizon.h"

#include <gtest/gtest.h>

namespace impresario::journal {
namespace horizon_test {

TEST(Horizon, NothingIsSettledAtFirst) {
    Horizon horizon;
    EXPECT_EQ(horizon.settled(), 0);
    EXPECT_FALSE(horizon.waits());
    EXPECT_EQ(horizon.marked(), 0);
    horizon.mark({0, 5});
    EXPECT_FALSE(horizon.waits()) << "zero is no event's number";
}

TEST(Horizon, ANumberIsSettledOnceWhoeverMayHaveTakenItHasEnded) {
    Horizon horizon;
    horizon.mark({10, 100});
    horizon.ended(100);
    EXPECT_EQ(horizon.settled(), 0) << "the transaction 99 may be under way, and so may be 100";
    EXPECT_TRUE(horizon.waits());
    horizon.ended(101);
    EXPECT_EQ(horizon.settled(), 10);
    EXPECT_FALSE(horizon.waits());
}

TEST(Horizon, GoesAsFarAsWhatIsUnderWayAllows) {
    Horizon horizon;
    horizon.mark({10, 100});
    horizon.mark({20, 110});
    horizon.mark({30, 120});
    horizon.ended(115);
    EXPECT_EQ(horizon.settled(), 20);
    horizon.ended(115);
    EXPECT_EQ(horizon.settled(), 20);
    horizon.ended(200);
    EXPECT_EQ(horizon.settled(), 30);
}

TEST(Horizon, RemembersOnlySoManyWhileATransactionDoesNotEnd) {
    Horizon horizon;
    for (int i = 1; i <= 100000; ++i) horizon.mark({i, 1000 + i});
    horizon.ended(1011);
    EXPECT_EQ(horizon.settled(), 10);
    horizon.ended(101000);
    EXPECT_EQ(horizon.settled(), 63) << "the last one stands for all that came later";
    horizon.ended(101001);
    EXPECT_EQ(horizon.settled(), 100000);
}

TEST(Horizon, OneNumberIsMarkedOnce) {
    Horizon horizon;
    horizon.mark({10, 100});
    horizon.mark({10, 105});
    horizon.ended(101);
    EXPECT_EQ(horizon.settled(), 10) << "the earlier mark says it sooner";
    horizon.mark({10, 110});
    EXPECT_FALSE(horizon.waits());
}

}
}
