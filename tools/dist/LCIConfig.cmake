# Defines the target LCI::lci. Found from where this file lies, so the tree may be unpacked anywhere and moved.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_lci_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET LCI::lci)
  add_library(LCI::lci STATIC IMPORTED)
  set_target_properties(LCI::lci PROPERTIES
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    IMPORTED_LOCATION "${_lci_prefix}/lib/liblci.a"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_INCLUDE_DIRECTORIES "${_lci_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
endif()

unset(_lci_prefix)
