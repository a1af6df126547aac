# Defines the targets LCI::LCI and LCI::LCT, with the second names LCI::lci and LCI::lct, and the
# variables LCI_VERSION and LCI_WITH_LCT_ONLY (FALSE).
#
# Components: LCI and LCT (or lci and lct), which are always there, and shared or static, which
# chooses the kind of library. Without a component, LCI_USE_STATIC_LIBS chooses static ones; else
# the libraries are shared if the package has shared ones.

set(LCI_WITH_LCT_ONLY FALSE)
set(_lci_problem "")
set(_lci_kind "")
foreach(_lci_component IN LISTS LCI_FIND_COMPONENTS)
  set(LCI_${_lci_component}_FOUND TRUE)
  if(_lci_component MATCHES "^(shared|static)$")
    if(_lci_kind AND NOT _lci_kind STREQUAL _lci_component)
      set(_lci_problem "the components shared and static exclude each other")
    endif()
    set(_lci_kind ${_lci_component})
  elseif(NOT _lci_component MATCHES "^(LCI|LCT|lci|lct)$")
    set(LCI_${_lci_component}_FOUND FALSE)
    if(LCI_FIND_REQUIRED_${_lci_component})
      set(_lci_problem
        "LCI has no component \"${_lci_component}\"; it has LCI, LCT, shared and static")
    endif()
  endif()
endforeach()
if(NOT _lci_kind AND LCI_USE_STATIC_LIBS)
  set(_lci_kind static)
endif()

if(NOT _lci_problem)
  if(NOT TARGET LCI::LCI)
    include("${CMAKE_CURRENT_LIST_DIR}/LCITargets.cmake")
    # Directories that did not call find_package see them, too.
    foreach(_lci_target LCI LCT)
      string(TOLOWER ${_lci_target} _lci_lower)
      set_target_properties(LCI::${_lci_target} PROPERTIES IMPORTED_GLOBAL TRUE)
      add_library(LCI::${_lci_lower} ALIAS LCI::${_lci_target})
    endforeach()
  endif()
  get_target_property(_lci_type LCI::LCI TYPE)
  string(TOLOWER "${_lci_type}" _lci_type)
  if(_lci_kind AND NOT _lci_type STREQUAL "${_lci_kind}_library")
    set(_lci_problem "LCI's ${_lci_kind} libraries were asked for, but LCI::LCI is a ${_lci_type}: \
this package has no other, or an earlier find_package(LCI) chose it")
  endif()
endif()

if(_lci_problem)
  set(LCI_FOUND FALSE)
  set(LCI_NOT_FOUND_MESSAGE "${_lci_problem}")
endif()
foreach(_lci_name component kind lower problem target type)
  unset(_lci_${_lci_name})
endforeach()
unset(_lci_name)
