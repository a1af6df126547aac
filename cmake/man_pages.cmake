# The manual pages of the operations, lci_post_am(3) and so on, made from the public headers.
find_program(LCI_DOXYGEN doxygen)
mark_as_advanced(LCI_DOXYGEN)
if(LCI_DOXYGEN)
  set(lci_man_pages ${CMAKE_CURRENT_BINARY_DIR}/reference)
  # The pages are many and their names come from the headers, so a file stands for all.
  add_custom_command(OUTPUT ${lci_man_pages}/made
    COMMAND docs/reference/build --man ${lci_man_pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${lci_man_pages}/made
    DEPENDS docs/reference/build docs/reference/Doxyfile.in docs/reference/filter.awk
      docs/reference/main.dox ${LCI_HEADERS} ${LCT_HEADERS} lci/api/lci.hpp lci/api/config.hpp.in
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Making the manual pages of the operations"
    VERBATIM)
  add_custom_target(lci_man_pages ALL DEPENDS ${lci_man_pages}/made)
elseif(NOT LCI_BUILD_MAN_PAGES STREQUAL "AUTO")
  message(FATAL_ERROR "LCI: LCI_BUILD_MAN_PAGES is ${LCI_BUILD_MAN_PAGES}, but doxygen was not "
    "found; install doxygen, or set LCI_DOXYGEN or LCI_BUILD_MAN_PAGES=OFF")
endif()
