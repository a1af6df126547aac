# What ctest runs: programs on several ranks of this host.
enable_testing()

# lci_launched_test(NAME RANKS TARGET ARGUMENTS...)
function(lci_launched_test NAME RANKS TARGET)
  add_test(NAME ${NAME}
    COMMAND lcrun -n ${RANKS} --timeout 50 $<TARGET_FILE:${TARGET}> ${ARGN})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 60)
endfunction()

lci_launched_test(hello_test 2 hello)
lci_launched_test(rpc_test 2 rpc)
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tests/compat/CMakeLists.txt)
  add_subdirectory(tests/compat)
endif()
