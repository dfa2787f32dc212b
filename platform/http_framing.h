#pragma once
// How the head of a request must look before anything believes it. What two servers could read differently (a proxy
// before us and we) is refused: it could carry a second request that only one of them sees.

#include <cstddef>
#include <string_view>

namespace impresario::platform {

/// How many of `bytes` belong to the head, its empty line included; 0 while that has not come. A line may end with LF
/// alone here, so that a head which nothing else will ever end is found and refused at once.
std::size_t head_length(std::string_view bytes);

/// Why a whole head is refused, for its sender to read; empty where it is well formed as far as this looks: line ends,
/// folded lines, names, Host, Content-Length and Transfer-Encoding.
std::string_view framing_fault(std::string_view head);

/// The target in origin form: an absolute one ("http://host/path") loses its scheme and authority.
std::string_view origin_form(std::string_view target);

}
