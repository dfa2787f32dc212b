#pragma once
// JSON pointers into an execution's input, as people write them in definitions.

#include <optional>
#include <string>
#include <string_view>

namespace impresario::platform {

/// What is wrong with one; nullopt when something may be there.
std::optional<std::string> pointer_fault(std::string_view from);

/// The same without a first step /input_data, which is the input itself.
std::string_view within_input(std::string_view from);

/// What stands there as text, if it is a string, a number or true or false; "" otherwise. `input` is "" or JSON that
/// check_json has passed.
std::string plain_text_at(std::string_view input, std::string_view pointer);

}
