#pragma once
// A document as it is kept until everybody has it.

#include <string>
#include <string_view>

#include "reports/document.h"

namespace impresario::reports {

std::string document_json(const Document& document);
/// What document_json has written.
Document parse_document(std::string_view json);

}
