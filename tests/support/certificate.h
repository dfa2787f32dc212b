#pragma once
// Certificates for servers that tests start.

#include <stdexcept>
#include <string>

#include "platform/process.h"

namespace impresario::testing {

/// cert.pem and key.pem in a directory: a certificate that it signed itself, for `name` (subjectAltName), and its key.
inline void make_certificate(const std::string& directory, const std::string& name) {
    platform::ProcessSettings make;
    make.command = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                    "-nodes",
                    "-subj",
                    "/CN=peer",
                    "-days",
                    "2",
                    "-addext",
                    "subjectAltName=" + name,
                    "-keyout",
                    directory + "/key.pem",
                    "-out",
                    directory + "/cert.pem"};
    if (platform::run_command(std::move(make)).status != 0) throw std::runtime_error("openssl made no certificate");
}

}
