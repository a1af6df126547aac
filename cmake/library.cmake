# The targets LCI and LCT, with the aliases that an installed package has.

# The public headers, as they are installed: what a program that is built with the library sees.
set(lci_include ${CMAKE_CURRENT_BINARY_DIR}/include)
configure_file(lci/api/lci.hpp ${lci_include}/lci.hpp COPYONLY)
foreach(header IN LISTS LCI_HEADERS)
  configure_file(${header} ${lci_include}/${header} COPYONLY)
endforeach()
foreach(header IN LISTS LCT_HEADERS)
  get_filename_component(name ${header} NAME)
  configure_file(${header} ${lci_include}/${name} COPYONLY)
endforeach()
configure_file(lci/api/config.hpp.in ${lci_include}/lci/api/config.hpp @ONLY)

# As in lci/build_defs.bzl. Messages name the files of the library relative to its root, as with
# Bazel, so that the binaries do not depend on the folder.
set(LCI_COPTS
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fno-semantic-interposition
  -fomit-frame-pointer
  -ftls-model=initial-exec
  -fvisibility=hidden
  $<$<CONFIG:Release>:-O2>)
if(LCI_WARNINGS)
  list(APPEND LCI_COPTS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
endif()

# What all targets have in common. Names that are local to a file are unique only there, so that a
# parent project's CMAKE_UNITY_BUILD does not join the files.
function(lci_set_up TARGET)
  set_target_properties(${TARGET} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON
    POSITION_INDEPENDENT_CODE ON
    UNITY_BUILD OFF)
  target_compile_options(${TARGET} PRIVATE ${LCI_COPTS})
  target_include_directories(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR} ${lci_include})
endfunction()

# One library, with nothing but flags in its interface, so that a parent project can export it.
#   lci_library(TARGET OUTPUT_NAME EXPORTS SOURCES...)
function(lci_library TARGET OUTPUT_NAME EXPORTS)
  if(LCI_BUILD_SHARED_LIBS)
    add_library(${TARGET} SHARED ${ARGN})
    set(exports ${PROJECT_SOURCE_DIR}/${EXPORTS})
    target_link_options(${TARGET} PRIVATE "LINKER:--version-script=${exports}" "LINKER:-z,text")
    set_property(TARGET ${TARGET} APPEND PROPERTY LINK_DEPENDS ${exports})
  else()
    add_library(${TARGET} STATIC ${ARGN})
  endif()
  lci_set_up(${TARGET})
  set_target_properties(${TARGET} PROPERTIES
    OUTPUT_NAME ${OUTPUT_NAME}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    VERSION ${PROJECT_VERSION})
  target_compile_features(${TARGET} PUBLIC cxx_std_17)
  target_include_directories(${TARGET} PUBLIC
    $<BUILD_INTERFACE:${lci_include}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${TARGET} PRIVATE -pthread ${CMAKE_DL_LIBS})
  string(TOLOWER ${TARGET} lower)
  add_library(LCI::${TARGET} ALIAS ${TARGET})
  add_library(LCI::${lower} ALIAS ${TARGET})
endfunction()

lci_library(LCI lci lci/exports.map ${LCI_SOURCES} ${LCI_IBV_SOURCES} ${LCI_OFI_SOURCES})
target_include_directories(LCI PRIVATE ${LCI_BACKEND_INCLUDES})
lci_library(LCT lct lct/exports.map ${LCT_SOURCES})
