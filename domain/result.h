#pragma once
// A value or the reason there is none, until std::expected.

#include <boost/system/result.hpp>
#include <string>

namespace impresario::domain {

/// An expected outcome. Errors are small per-room types that say what the caller can do next.
template <class T, class E>
using Result = boost::system::result<T, E>;

/// An error that only a person acts on: a sentence saying what is wrong with the thing that was read, to follow its
/// name ("endpoint" + " " + "is not an absolute URL").
struct Fault {
    std::string what;
};

}
