"""The version of the interface and the library, here and nowhere else.

From here come lci/api/config.hpp, the soname of the shared libraries and the pkg-config and CMake
files. CMakeLists.txt reads this file, too.
"""

LCI_VERSION = "2.0.0"
