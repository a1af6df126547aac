# lcrun, lci_perf, lci_info and lci_trace.

# Abseil is the parent project's, or the installed one.
set(lci_abseil ${LCRUN_ABSEIL} ${LCI_PERF_ABSEIL} ${LCI_INFO_ABSEIL} ${LCI_TRACE_ABSEIL})
list(REMOVE_DUPLICATES lci_abseil)
foreach(library IN LISTS lci_abseil)
  if(NOT TARGET ${library})
    find_package(absl QUIET)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "LCI: the tools need Abseil's ${library}; install Abseil "
        "(libabsl-dev), make it a part of the project before LCI, or set LCI_BUILD_TOOLS=OFF")
    endif()
  endif()
endforeach()

# lci_tool(NAME SOURCES LIBRARIES): SOURCES and LIBRARIES are names of lists.
function(lci_tool NAME SOURCES LIBRARIES)
  add_executable(${NAME} ${${SOURCES}})
  lci_set_up(${NAME})
  target_link_libraries(${NAME} PRIVATE ${${LIBRARIES}} ${ARGN} -pthread)
endfunction()

lci_tool(lcrun LCRUN_SOURCES LCRUN_ABSEIL)
# It starts on any host, and fast.
target_link_options(lcrun PRIVATE -static-libgcc -static-libstdc++)
# It reads files, and needs nothing of the library as it is built.
lci_tool(lci_trace LCI_TRACE_SOURCES LCI_TRACE_ABSEIL)
lci_tool(lci_perf LCI_PERF_SOURCES LCI_PERF_ABSEIL LCI)
# It reports what the library itself computes, by names that the shared library does not export.
lci_tool(lci_info LCI_INFO_SOURCES LCI_INFO_ABSEIL ${CMAKE_DL_LIBS})
target_sources(lci_info PRIVATE $<TARGET_OBJECTS:LCI>)
# The installed lci_perf finds the installed library.
file(RELATIVE_PATH lci_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(lci_perf PROPERTIES INSTALL_RPATH "$ORIGIN/${lci_bin_to_lib}")
