"""The Spack recipe.  spack repo add packaging/spack && spack install lci"""

import os

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # Spack before 1.0 has it in spack.package.
    pass
from spack.package import *


class Lci(CMakePackage):
    """A C++17 communication library for programs with many threads per process, with a launcher."""

    # The clone that contains this recipe.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))

    license("Apache-2.0")

    version("main", branch="main")

    variant("shared", default=True, description="Build shared instead of static libraries")
    variant("ibv", default=True, description="InfiniBand and RoCE, through libibverbs")
    variant("ofi", default=True, description="Slingshot, EFA and other networks, through libfabric")
    variant("tools", default=True, description="Build lcrun, lci_perf, lci_info and lci_trace")
    variant("man", default=False, description="Make the manual pages of the operations")

    depends_on("cxx", type="build")
    depends_on("cmake@3.16:", type="build")
    depends_on("doxygen", type="build", when="+man")
    # The library loads them when a job has several hosts; as link dependencies they are in its search path.
    depends_on("rdma-core", when="+ibv")
    depends_on("libfabric", when="+ofi")
    depends_on("abseil-cpp cxxstd=17", when="+tools")

    def cmake_args(self):
        args = [
            self.define_from_variant("LCI_BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("LCI_WITH_IBV", "ibv"),
            self.define_from_variant("LCI_WITH_OFI", "ofi"),
            self.define_from_variant("LCI_BUILD_TOOLS", "tools"),
            self.define_from_variant("LCI_BUILD_MAN_PAGES", "man"),
        ]
        # The tests start the examples with lcrun.
        tested = bool(self.run_tests) and self.spec.satisfies("+tools")
        args.append(self.define("LCI_BUILD_TESTS", tested))
        args.append(self.define("LCI_BUILD_EXAMPLES", tested))
        return args
