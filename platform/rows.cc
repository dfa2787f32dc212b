#include "platform/rows.h"

namespace impresario::platform {

std::size_t Rows::size() const { return static_cast<std::size_t>(PQntuples(impl_->get())); }
std::size_t Rows::columns() const { return static_cast<std::size_t>(PQnfields(impl_->get())); }
std::string_view Rows::column_name(std::size_t column) const { return PQfname(impl_->get(), static_cast<int>(column)); }
std::size_t Rows::affected() const {
    const std::string_view count = PQcmdTuples(impl_->get());
    return count.empty() ? 0 : std::stoull(std::string(count));
}
bool Rows::null(std::size_t row, std::size_t column) const {
    return PQgetisnull(impl_->get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}
bool Rows::binary(std::size_t column) const { return PQfformat(impl_->get(), static_cast<int>(column)) == 1; }
SqlType Rows::type(std::size_t column) const { return SqlType{PQftype(impl_->get(), static_cast<int>(column))}; }
std::string_view Rows::text(std::size_t row, std::size_t column) const {
    const int r = static_cast<int>(row);
    const int c = static_cast<int>(column);
    return {PQgetvalue(impl_->get(), r, c), static_cast<std::size_t>(PQgetlength(impl_->get(), r, c))};
}

}
