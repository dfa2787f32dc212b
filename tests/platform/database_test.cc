// A crash of PostgreSQL at each moment of a transaction, on a cluster that is this test's own: what the caller may do
// next depends on what it is told.
#include "platform/database.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "platform/local_postgres.h"

namespace impresario::platform {
namespace database_test {

constexpr Statement kMark{"mark", "insert into marks values ($1::integer)"};
constexpr Statement kDivide{"divide", "insert into marks values (1 / $1::integer)"};
constexpr Statement kNowhere{"nowhere", "insert into no_such_table values (1)"};
constexpr Statement kCount{"count_marks", "select count(*) from marks"};

class Crash : public ::testing::Test {
  protected:
    Crash() {
        settings_.url = postgres_.url("postgres");
        Connection(settings_, nullptr).autocommit([](Tx& tx) {
            tx.run("create table if not exists marks (n integer)");
        });
    }
    ~Crash() override {
        postgres_.stop("immediate");
        LocalPostgres::remove(directory_);
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    std::int64_t marks() {
        std::int64_t count = 0;
        Connection(settings_, nullptr).autocommit([&](Tx& tx) {
            const auto rows = tx.run("select count(*) from marks");
            count = RowReader(rows, 0).integer();
        });
        return count;
    }

    std::string directory_ = "/tmp/impresario-crash-" + std::to_string(getpid());
    LocalPostgres postgres_{{directory_, {"fsync = off"}}};
    DatabaseSettings settings_;
};

TEST_F(Crash, BetweenTwoStatementsNothingHappened) {
    Connection connection(settings_, nullptr);
    EXPECT_THROW(connection.transact([&](Tx& tx) {
        tx.run("insert into marks values (1)");
        postgres_.stop("immediate");
        tx.run("insert into marks values (2)");
    }),
                 DatabaseUnavailable);
    postgres_.start();
    EXPECT_EQ(marks(), 0);
}

TEST_F(Crash, BeforeTheCommitItIsInDoubt) {
    Connection connection(settings_, nullptr);
    EXPECT_THROW(connection.transact([&](Tx& tx) {
        tx.run("insert into marks values (1)");
        postgres_.stop("immediate");
    }),
                 DatabaseInDoubt);
    postgres_.start();
    EXPECT_EQ(marks(), 0);
}

/// There the commit is not queued, but sent by asking for it.
TEST_F(Crash, BeforeTheCommitItIsInDoubtBehindAPoolerToo) {
    settings_.pooled = true;
    Connection connection(settings_, nullptr);
    EXPECT_THROW(connection.transact([&](Tx& tx) {
        tx.send(kMark, Params().add(1));
        postgres_.stop("immediate");
    }),
                 DatabaseInDoubt);
    postgres_.start();
    EXPECT_EQ(marks(), 0);
}

TEST_F(Crash, WhileNobodyUsesItsSessionItIsReplaced) {
    asio::io_context io;
    settings_.connections = 1;
    Database database(io.get_executor(), settings_, nullptr);
    const auto mark = [&] {
        std::exception_ptr failure;
        asio::co_spawn(io, database.transact([](Tx& tx) { tx.run("insert into marks values (1)"); }),
                       [&](const std::exception_ptr& f) { failure = f; });
        io.restart();
        io.run();
        return !failure;
    };
    ASSERT_TRUE(mark());
    postgres_.stop("immediate");
    postgres_.start();
    EXPECT_TRUE(mark()) << "the first to come after the crash does not notice";
    EXPECT_EQ(marks(), 2);
}

TEST_F(Crash, WhatIsAskedTogetherIsAnsweredInOrder) {
    Connection connection(settings_, nullptr);
    connection.transact([&](Tx& tx) {
        const auto before = tx.ask(kCount);
        tx.send(kMark, Params().add(1));
        const Rows after = tx.exec(kCount);
        const Rows first = before();
        EXPECT_EQ(RowReader(first, 0).integer(), 0);
        EXPECT_EQ(RowReader(after, 0).integer(), 1);
    });
    EXPECT_EQ(marks(), 1);
}

TEST_F(Crash, WhatIsRefusedAmongOthersTakesTheTransactionWithIt) {
    Connection connection(settings_, nullptr);
    const auto state = [&](const Statement& faulty, const Params& params) -> std::string {
        try {
            connection.transact([&](Tx& tx) {
                tx.send(kMark, Params().add(1));
                tx.send(faulty, params);
                tx.send(kCount);
            });
        } catch (const StatementRefused& refused) {
            return refused.sqlstate;
        }
        return "committed";
    };
    EXPECT_EQ(state(kDivide, Params().add(0)), "22012");
    EXPECT_EQ(state(kNowhere, {}), "42P01");
    EXPECT_EQ(marks(), 0);
    // Who carries on all the same is told.
    EXPECT_THROW(connection.transact([&](Tx& tx) {
        EXPECT_THROW(tx.exec(kDivide, Params().add(0)), StatementRefused);
        tx.exec(kCount);
    }),
                 StatementRefused);
    EXPECT_THROW(connection.transact([&](Tx& tx) {
        const auto count = tx.ask(kCount);
        tx.send(kDivide, Params().add(0));
        const auto behind = tx.ask(kCount);
        EXPECT_THROW(behind(), StatementRefused);
        EXPECT_EQ(count().size(), 1U);
        EXPECT_THROW(behind(), StatementRefused);
        tx.exec(kCount);
    }),
                 StatementRefused);
    // The session is as good as before, and prepares what it could not.
    EXPECT_EQ(state(kNowhere, {}), "42P01");
    EXPECT_EQ(state(kDivide, Params().add(1)), "committed");
    EXPECT_EQ(marks(), 2);
}

TEST_F(Crash, AServerThatWasRestartedMeanwhileIsNoFailureOfARead) {
    Connection connection(settings_, nullptr);
    connection.transact([&](Tx& tx) { tx.send(kMark, Params().add(1)); });
    postgres_.stop("immediate");
    postgres_.start();
    // Found out before anything is sent: nothing is in doubt.
    EXPECT_THROW(connection.autocommit([&](Tx& tx) { tx.exec(kCount); }), DatabaseUnavailable);
    EXPECT_THROW(connection.transact([&](Tx& tx) { tx.send(kMark, Params().add(1)); }), DatabaseUnavailable);
    EXPECT_EQ(marks(), 1);
}

}
}
