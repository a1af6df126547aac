# Which networks the library can use. Their libraries are loaded at run time, so that only headers
# are needed here. The sources of a backend that is left out are replaced by absent.cc.

set(LCI_BACKENDS)
set(LCI_BACKEND_INCLUDES)

# NAME: LCI_WITH_<NAME> and <NAME>'s list of sources. HEADER, PACKAGE: of the network's library.
macro(lci_backend NAME HEADER PACKAGE)
  string(TOLOWER ${NAME} lci_backend)
  set(LCI_BACKEND_ENABLE_${NAME} FALSE)
  if(LCI_WITH_${NAME})  # AUTO, too
    find_path(LCI_${NAME}_INCLUDE_DIR ${HEADER})
    mark_as_advanced(LCI_${NAME}_INCLUDE_DIR)
    if(LCI_${NAME}_INCLUDE_DIR)
      set(LCI_BACKEND_ENABLE_${NAME} TRUE)
      list(APPEND LCI_BACKENDS ${lci_backend})
      list(APPEND LCI_BACKEND_INCLUDES ${LCI_${NAME}_INCLUDE_DIR})
    elseif(LCI_WITH_${NAME} STREQUAL "AUTO")
      message(STATUS "LCI: without the network ${lci_backend}: <${HEADER}> was not found "
        "(${PACKAGE}, or LCI_${NAME}_INCLUDE_DIR)")
    else()
      message(FATAL_ERROR "LCI: LCI_WITH_${NAME} is ${LCI_WITH_${NAME}}, but <${HEADER}> was not "
        "found; install ${PACKAGE}, or set LCI_${NAME}_INCLUDE_DIR or LCI_WITH_${NAME}=OFF")
    endif()
  endif()
  if(NOT LCI_BACKEND_ENABLE_${NAME})
    set(LCI_${NAME}_SOURCES lci/net/${lci_backend}/absent.cc)
  endif()
endmacro()

lci_backend(IBV infiniband/verbs.h libibverbs-dev)
lci_backend(OFI rdma/fabric.h libfabric-dev)
set(LCI_NETWORK_BACKENDS_ENABLED "${LCI_BACKENDS}")
list(JOIN LCI_BACKENDS " " lci_backends)
string(STRIP "shm ${lci_backends}" lci_backends)
message(STATUS "LCI ${LCI_VERSION}: networks: ${lci_backends}")
