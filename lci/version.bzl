"""The version, here and nowhere else: //lci:version for C++, //:dist for pkg-config and CMake."""

LCI_VERSION = "0.1.0"
