# The options, and the type of build if none is given.

if(LCI_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Type of build" FORCE)
endif()

# The build type is up to a parent project, whose developers see how slow the library is without.
if(NOT LCI_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES
    AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
  message(STATUS "LCI: CMAKE_BUILD_TYPE is not set, so that the library is not optimized; set it "
    "to Release, for example")
endif()

# Two static copies of the library in one process would be two jobs, so shared is the default.
if(DEFINED BUILD_SHARED_LIBS)
  set(lci_shared_default ${BUILD_SHARED_LIBS})
else()
  set(lci_shared_default ON)
endif()
option(LCI_BUILD_SHARED_LIBS "Build liblci.so and liblct.so; OFF: liblci.a and liblct.a"
  ${lci_shared_default})

# A parent project may have set them as ordinary variables.
foreach(network "IBV libibverbs" "OFI libfabric")
  separate_arguments(network)
  list(GET network 0 name)
  list(GET network 1 library)
  string(TOLOWER ${name} backend)
  if(NOT DEFINED LCI_WITH_${name})
    set(LCI_WITH_${name} AUTO CACHE STRING
      "Backend ${backend}: ON, OFF, or AUTO if the headers of ${library} are found")
    set_property(CACHE LCI_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  endif()
  string(TOUPPER "${LCI_WITH_${name}}" value)
  if(NOT value MATCHES "^(AUTO|ON|OFF|YES|NO|TRUE|FALSE|Y|N|1|0)$")
    message(FATAL_ERROR "LCI: LCI_WITH_${name} is \"${LCI_WITH_${name}}\"; it must be ON, OFF or AUTO")
  endif()
endforeach()

option(LCI_BUILD_TOOLS "Build lcrun, lci_perf, lci_info and lci_trace, which need Abseil" ${LCI_IS_TOP_LEVEL})
# The reference is for those who install the library, not for projects that contain it.
if(LCI_IS_TOP_LEVEL)
  set(lci_man_default AUTO)
else()
  set(lci_man_default OFF)
endif()
set(LCI_BUILD_MAN_PAGES ${lci_man_default} CACHE STRING
  "Manual pages of the operations: ON, OFF, or AUTO if Doxygen is found")
set_property(CACHE LCI_BUILD_MAN_PAGES PROPERTY STRINGS AUTO ON OFF)
option(LCI_BUILD_EXAMPLES "Build the examples" ${LCI_IS_TOP_LEVEL})
# The tests start the examples with lcrun.
set(lci_tests_default OFF)
if(LCI_IS_TOP_LEVEL AND LCI_BUILD_TOOLS AND LCI_BUILD_EXAMPLES)
  set(lci_tests_default ON)
endif()
option(LCI_BUILD_TESTS "Build what ctest runs" ${lci_tests_default})
option(LCI_WARNINGS "Compile with the warnings that developers of the library use"
  ${LCI_IS_TOP_LEVEL})

# A project that installs the targets in an export set of its own turns this off.
if(DEFINED LCI_FETCHCONTENT_INSTALL AND NOT LCI_IS_TOP_LEVEL)
  set(lci_install_default ${LCI_FETCHCONTENT_INSTALL})
else()
  set(lci_install_default ON)
endif()
option(LCI_INSTALL "Install the library with the project" ${lci_install_default})

foreach(accelerator CUDA HIP)
  if(LCI_USE_${accelerator})
    message(WARNING "LCI: LCI_USE_${accelerator} has no effect: a network that can reach an "
      "accelerator's memory takes it without")
  endif()
endforeach()
if(LCI_BUILD_TESTS AND NOT (LCI_BUILD_TOOLS AND LCI_BUILD_EXAMPLES))
  message(FATAL_ERROR "LCI: the tests (LCI_BUILD_TESTS) start the examples with lcrun; set "
    "LCI_BUILD_TOOLS and LCI_BUILD_EXAMPLES to ON, too, or LCI_BUILD_TESTS to OFF")
endif()
