// What a parameter says is what PostgreSQL reads, and the other way round.
#include <gtest/gtest.h>

#include <limits>

#include "platform/sql.h"
#include "tests/support/database.h"

namespace impresario::platform {
namespace sql_test {

using domain::TimePoint;
using std::chrono::microseconds;

/// Its elements as PostgreSQL writes them, one a line; null: "-".
std::string read_back(SqlArray array, const std::string& type, const std::string& element = "each::text") {
    std::string all;
    testing::TestDatabase().transact([&](Tx& tx) {
        tx.run("set local timezone = 'UTC'");
        const auto rows = tx.run("select coalesce(" + element + ", '-') from unnest($1::" + type +
                                     "[]) with ordinality as t(each, place) order by place",
                                 Params().add(std::move(array)));
        for (std::size_t i = 0; i < rows.size(); ++i) all += RowReader(rows, i).text() + "\n";
    });
    return all;
}

TEST(SqlArray, TextsKeepEveryCharacter) {
    SqlArray array;
    for (const auto* text :
         {"", "NULL", "null", "a,b", "{}", "\"quoted\"", "back\\slash", " ", "two\nlines", "äöü – 😀"})
        array.add(text);
    array.null();
    array.add_or_null("");
    array.add_or_null("x");
    EXPECT_EQ(read_back(std::move(array), "text"),
              "\nNULL\nnull\na,b\n{}\n\"quoted\"\nback\\slash\n \ntwo\nlines\näöü – 😀\n-\n-\nx\n");
}

TEST(SqlArray, NullsMayComeFirstAndStandAlone) {
    for (const int nulls : {0, 1, 3}) {
        SqlArray alone;
        SqlArray before_text;
        SqlArray before_number;
        std::string expected;
        for (int i = 0; i < nulls; ++i) {
            for (auto* each : {&alone, &before_text, &before_number}) each->null();
            expected += "-\n";
        }
        before_text.add("x");
        before_number.add(7);
        EXPECT_EQ(alone.size(), static_cast<std::size_t>(nulls));
        EXPECT_EQ(read_back(std::move(alone), "uuid"), expected);
        EXPECT_EQ(read_back(std::move(before_text), "text"), expected + "x\n");
        EXPECT_EQ(read_back(std::move(before_number), "bigint"), expected + "7\n");
    }
}

TEST(SqlArray, TimesAreToTheMicrosecondAndHaveNoEnd) {
    SqlArray array;
    const TimePoint epoch{};
    array.add(epoch);
    array.add(TimePoint(microseconds{946'684'799'999'999}));
    array.add(TimePoint(microseconds{1'795'000'000'000'001}));
    array.add(std::optional<TimePoint>());
    array.add(domain::kFirstTime);
    array.add(domain::kFirstTime - std::chrono::hours{24 * 365 * 10000});
    array.add(domain::kNever);
    array.add(TimePoint::min());
    EXPECT_EQ(read_back(std::move(array), "timestamptz"),
              "1970-01-01 00:00:00+00\n1999-12-31 23:59:59.999999+00\n2026-11-18 11:06:40.000001+00\n-\n"
              "0001-01-01 00:00:00+00\n0001-01-01 00:00:00+00\ninfinity\n-infinity\n");
}

TEST(SqlArray, IdsBytesAndTruths) {
    const auto id = domain::ExecutionId::parse("01a22cd6-64b1-7089-8367-c1435e0d1e68").value();
    SqlArray ids;
    ids.add(id);
    ids.add(std::optional<domain::ExecutionId>());
    EXPECT_EQ(read_back(std::move(ids), "uuid"), id.text() + "\n-\n");
    SqlArray bytes;
    bytes.add_bytes(std::string_view("\0\xff'\\", 4));
    bytes.add_bytes("");
    EXPECT_EQ(read_back(std::move(bytes), "bytea", "encode(each, 'hex')"), "00ff275c\n\n");
    SqlArray truths;
    truths.add(true);
    truths.add(false);
    EXPECT_EQ(read_back(std::move(truths), "boolean"), "true\nfalse\n");
}

TEST(SqlArray, NumbersFitEveryWidth) {
    for (const auto* type : {"smallint", "integer", "bigint", "numeric"}) {
        SqlArray array;
        array.add(-32768);
        array.null();
        array.add(std::int64_t{32767});
        EXPECT_EQ(read_back(std::move(array), type), "-32768\n-\n32767\n") << type;
    }
    SqlArray whole;
    whole.add_bigint(std::numeric_limits<std::int64_t>::min());
    whole.null();
    whole.add_bigint(-1);
    EXPECT_EQ(read_back(std::move(whole), "bigint"), "-9223372036854775808\n-\n-1\n");
    SqlArray digits;
    digits.add_number("170141183460469231731687303715884105727");
    digits.add_number("-0.5");
    EXPECT_EQ(read_back(std::move(digits), "numeric"), "170141183460469231731687303715884105727\n-0.5\n");
    SqlArray real;
    real.add_number(std::to_string(2.5));
    EXPECT_EQ(read_back(std::move(real), "double precision"), "2.5\n");
    SqlArray documents;
    documents.add_json(R"({"a": "\"\\x,{}"})");
    documents.add_json("[1,2]");
    EXPECT_EQ(read_back(std::move(documents), "jsonb"), "{\"a\": \"\\\"\\\\x,{}\"}\n[1, 2]\n");
    EXPECT_EQ(read_back(SqlArray(), "bigint"), "");
}

TEST(SqlArray, IsOfOneType) {
    SqlArray array;
    array.add("x");
    EXPECT_THROW(array.add(1), std::logic_error);
    EXPECT_THROW(array.add(TimePoint{}), std::logic_error);
}

/// Every type that is read in binary form, beside the same in text form; :: with values, and with nulls.
constexpr std::string_view kColumns =
    "select ('-32768')::smallint, (2147483647)::integer, (-9223372036854775807)::bigint, (-0.125)::float8, true, "
    "false, "
    "timestamptz '2026-11-30 14:22:57.713148+00', timestamptz 'infinity', timestamptz '-infinity', "
    "timestamptz '0044-03-15 00:00:00+00 BC', timestamptz '9999-12-31 23:59:59.999999+00', "
    "timestamptz '10000-01-01 00:00:00+00', uuid '01a22cd6-64b1-7089-8367-c1435e0d1e68', "
    "'\\x00ff27'::bytea, 'äö'::text, '{\"a\": 1}'::json, '{1,-2,9223372036854775807}'::bigint[], '{}'::bigint[]";
constexpr std::string_view kNulls =
    "select null::bigint, null::timestamptz, null::uuid, null::text, null::boolean, null::bigint[]";

constexpr std::string_view kOthers = "select 1.5::numeric, '{}'::jsonb, 1, interval '1 s'";

std::string all_of(RowReader row) {
    std::string all;
    for (int i = 0; i < 3; ++i) all += std::to_string(row.integer()) + " ";
    all += std::to_string(row.real()) + " ";
    for (int i = 0; i < 2; ++i) all += row.flag() ? "t " : "f ";
    for (int i = 0; i < 6; ++i) all += std::to_string(row.time().time_since_epoch().count()) + " ";
    all += row.id<domain::ExecutionId>().text() + " ";
    all += row.bytes().size() == 3 ? "bytes " : "no ";
    for (int i = 0; i < 2; ++i) all += row.text() + " ";
    for (const auto each : row.integers()) all += std::to_string(each) + ",";
    return all + std::to_string(row.integers().size());
}

TEST(SqlRows, AreTheSameInBothForms) {
    testing::TestDatabase().transact([](Tx& tx) {
        tx.run("set local timezone = 'UTC'");
        const auto text = tx.exec(Statement{"columns", kColumns});
        const auto binary = tx.exec(Statement{"columns", kColumns, false, true});
        EXPECT_FALSE(text.binary(0));
        EXPECT_TRUE(binary.binary(0));
        EXPECT_EQ(all_of(RowReader(binary, 0)), all_of(RowReader(text, 0)));

        const auto nulls = tx.exec(Statement{"nulls", kNulls, false, true});
        RowReader row(nulls, 0);
        EXPECT_FALSE(row.maybe_integer());
        EXPECT_FALSE(row.maybe_time());
        EXPECT_FALSE(row.maybe_id<domain::ExecutionId>());
        EXPECT_EQ(row.text(), "");
        EXPECT_FALSE(row.flag());
        EXPECT_TRUE(row.integers().empty());
    });
}

TEST(SqlRows, SayWhatTheyRepeat) {
    testing::TestDatabase().transact([](Tx& tx) {
        for (const bool binary : {false, true}) {
            const auto rows = tx.exec(Statement{
                "repeated",
                "values (1::bigint, 'a'::text, 2::bigint), (3, 'a', 2), (3, '', 2), (3, null, 2), (4, null, 2)", false,
                binary});
            const auto repeated = [&](std::size_t row, std::size_t skipped, std::size_t columns) {
                RowReader reader(rows, row);
                reader.skip(skipped);
                return reader.repeats(columns);
            };
            EXPECT_FALSE(repeated(0, 0, 3)) << "there is none before it";
            EXPECT_FALSE(repeated(1, 0, 3));
            EXPECT_TRUE(repeated(1, 1, 2));
            EXPECT_FALSE(repeated(2, 1, 1));
            EXPECT_TRUE(repeated(2, 2, 1));
            EXPECT_FALSE(repeated(3, 1, 1)) << "a null is not an empty text";
            EXPECT_TRUE(repeated(4, 1, 2));
        }
    });
}

TEST(SqlRows, WhatIsNotKnownInBinaryFormIsSaid) {
    testing::TestDatabase().transact([](Tx& tx) {
        const auto rows = tx.exec(Statement{"others", kOthers, false, true});
        RowReader row(rows, 0);
        EXPECT_THROW(row.integer(), std::logic_error);
        EXPECT_THROW(row.text(), std::logic_error);
        EXPECT_THROW(row.text(), std::logic_error) << "a number is not a text";
        EXPECT_THROW(row.real(), std::logic_error);
    });
}

}
}
