# The package: libraries, headers, tools, and what find_package and pkg-config read. The files in
# tools/dist are those of the package that Bazel makes.

set(lci_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/LCI)
install(TARGETS LCI LCT
  EXPORT LCITargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT LCITargets NAMESPACE LCI:: DESTINATION ${lci_cmake_dir})
install(DIRECTORY ${lci_include}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(tools/dist/LCIConfigVersion.cmake.in LCIConfigVersion.cmake @ONLY)
install(FILES tools/dist/LCIConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/LCIConfigVersion.cmake
  DESTINATION ${lci_cmake_dir})

# lci_pkg_config(FILE DESCRIPTION LIBS): FILE without .pc.
function(lci_pkg_config LCI_PC_NAME LCI_PC_DESCRIPTION LCI_PC_LIBS)
  file(RELATIVE_PATH LCI_PC_TO_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" LCI_PC_TO_PREFIX "${LCI_PC_TO_PREFIX}")
  set(LCI_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  set(LCI_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  configure_file(tools/dist/library.pc.in ${LCI_PC_NAME}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${LCI_PC_NAME}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

foreach(library lci lct)
  if(library STREQUAL "lci")
    set(description ${PROJECT_DESCRIPTION})
  else()
    set(description "Companion library of LCI")
  endif()
  set(static_libs "-L\${libdir} -l:lib${library}.a -pthread -ldl")
  if(NOT LCI_BUILD_SHARED_LIBS)
    lci_pkg_config(${library} ${description} ${static_libs})
    lci_pkg_config(${library}-static ${description} ${static_libs})
  elseif(CMAKE_INSTALL_FULL_LIBDIR IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    lci_pkg_config(${library} ${description} "-L\${libdir} -l${library}")
  else()
    # Programs find the library where it lies.
    lci_pkg_config(${library} ${description}
      "-L\${libdir} -Wl,-rpath,\${libdir} -l${library}")
  endif()
endforeach()

if(LCI_BUILD_TOOLS)
  install(TARGETS lcrun lci_perf lci_info lci_trace DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(PROGRAMS benchmarks/perf/lci_plot DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Where lci_plot looks for them.
  install(FILES benchmarks/compare/svg.py benchmarks/compare/units.py
    DESTINATION ${CMAKE_INSTALL_BINDIR}/../share/lci/plot)
  foreach(tool lcrun lci_perf lci_plot lci_info lci_trace)
    install(FILES docs/man/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endforeach()
  install(FILES tools/launcher/completion/lcrun.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lcrun)
  install(FILES tools/launcher/completion/_lcrun
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(TARGET lci_man_pages)
  install(DIRECTORY ${lci_man_pages}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
install(FILES tools/gdb/lci.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lci/gdb)
# gdb looks for the printers of a library in /usr/share, by the library's path.
if(LCI_BUILD_SHARED_LIBS AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  install(FILES tools/gdb/lci.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}
    RENAME liblci.so.${PROJECT_VERSION}-gdb.py)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/lci)
install(FILES examples/CMakeLists.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/lci/examples)
foreach(example gups hello pingpong rpc tutorial)
  install(DIRECTORY examples/${example} DESTINATION ${CMAKE_INSTALL_DATADIR}/lci/examples
    FILES_MATCHING PATTERN "*.cc" PATTERN "*.h" PATTERN "*_test.cc" EXCLUDE)
endforeach()
