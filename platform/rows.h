#pragma once
// What stands behind Rows: libpq's result. Inside of platform only.

#include <libpq-fe.h>

#include "platform/sql.h"

namespace impresario::platform {

class Rows::Impl {
  public:
    explicit Impl(PGresult* result) : result_(result) {}
    ~Impl() { PQclear(result_); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    PGresult* get() const { return result_; }

  private:
    PGresult* result_;
};

}
